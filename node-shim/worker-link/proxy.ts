// Which proxy the environment names for the way to the Worker: HTTPS_PROXY and NO_PROXY, read as Go and curl read them.
// Opens no connection. No text made here holds the proxy's password.
import { BlockList, isIP } from "node:net";
import { domainToASCII } from "node:url";
import { hostOf } from "./origin.ts";

export interface Proxy {
  /** Without name and password: http://proxy.example.com:3128 */
  origin: string;
  /** What Proxy-Authorization says; null: the URL has no name. */
  authorization: string | null;
  /** HTTPS_PROXY or https_proxy. */
  source: string;
}

/**
 * The proxy for requests to the Worker; null: directly. Throws, with what to change, for a URL that names none.
 * HTTP_PROXY does not matter, since no request without TLS leaves this machine.
 */
export function proxyTo(origin: string, environment: NodeJS.ProcessEnv): Proxy | null {
  const proxy = environmentProxy(environment);
  const url = new URL(origin);
  if (proxy === null || url.protocol !== "https:") return null;
  return isExcepted(url, exceptions(environment)) ? null : proxy;
}

/** NO_PROXY's text. */
export function exceptions(environment: NodeJS.ProcessEnv): string {
  return firstOf(["NO_PROXY", "no_proxy"], environment)?.text ?? "";
}

/** The proxy that the environment names, whatever NO_PROXY says. Throws as proxyTo does. */
export function environmentProxy(environment: NodeJS.ProcessEnv): Proxy | null {
  const found = firstOf(["HTTPS_PROXY", "https_proxy"], environment);
  if (found === null) return null;
  const { name: source, text } = found;
  const url = urlOf(text);
  if (url === null)
    throw new Error(
      `${source} must read http://[NAME:PASSWORD@]HOST:PORT (or https://), with / ? # and % of a name or password percent-encoded`,
    );
  return { origin: url.origin, authorization: basic(url, source), source };
}

/** As in Go: upper case first, and an empty text is none. */
function firstOf(names: string[], environment: NodeJS.ProcessEnv): { name: string; text: string } | null {
  for (const name of names) {
    const text = environment[name]?.trim();
    if (text) return { name, text };
  }
  return null;
}

function urlOf(text: string): URL | null {
  // URL would leave out a line's end, and take what stands before an unencoded # for the host.
  if (/[\s\p{Cc}\\]/u.test(text)) return null;
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.pathname === "/" && url.search === "" && url.hash === "" ? url : null;
}

/** RFC 7617, in UTF-8. */
function basic({ username, password }: URL, source: string): string | null {
  if (username === "" && password === "") return null;
  let name: string;
  let secret: string;
  try {
    [name, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  } catch {
    throw new Error(`${source}: a % of the name or password must be written %25`);
  }
  if (name.includes(":") || /\p{Cc}/u.test(name + secret))
    throw new Error(`${source}: no name holds a colon, and neither it nor a password a control character`);
  return `Basic ${Buffer.from(`${name}:${secret}`).toString("base64")}`;
}

// Which hosts NO_PROXY excepts, by the rules of Go's x/net/http/httpproxy, so that one text says the same to all
// programs of a machine. Resolves no name.

/** Whether requests to this https:// URL go past the proxy. `list` is NO_PROXY's text. */
export function isExcepted(url: URL, list: string): boolean {
  const host = hostOf(url);
  if (host === "localhost" || isIn("127.0.0.0/8", host) || isIn("::1", host)) return true;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry === "*" || matches(entry, host, url.port || "443"));
}

/** As Go's, an entry that means nothing excepts nothing: other programs read the same text. */
function matches(entry: string, host: string, port: string): boolean {
  if (isIP(host) !== 0 && isIn(entry, host)) return true;
  // An IPv6 address has a port only behind brackets.
  const [, bracketed, plain = "", ofPort] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(entry) ?? ([] as string[]);
  if (ofPort && ofPort !== port) return false;
  const named = bracketed ?? plain;
  if (isIP(named) !== 0) return isIP(host) !== 0 && isIn(named, host);
  const suffix = named.replace(/^\*(?=\.)/, "");
  if (suffix === "" || isIP(host) !== 0) return false;
  const domain = domainToASCII(suffix) || suffix;
  return domain.startsWith(".") ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/** Whether an address is in a network (10.0.0.0/8), or the address itself; false where `network` is neither. */
function isIn(network: string, address: string): boolean {
  const [of = "", bits, ...more] = network.split("/");
  const [family, length] = [isIP(of), isIP(of) === 4 ? 32 : 128];
  if (family === 0 || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return false;
  if (isIP(address) === 0 || Number(bits ?? 0) > length) return false;
  const list = new BlockList();
  list.addSubnet(of, bits === undefined ? length : Number(bits), family === 4 ? "ipv4" : "ipv6");
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}
