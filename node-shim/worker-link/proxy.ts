// Reads the Worker's proxy from HTTPS_PROXY and NO_PROXY, as Go and curl do. No message has the proxy's password.
import { BlockList, isIP } from "node:net";
import { domainToASCII } from "node:url";
import { hostOf } from "./origin.ts";

export interface Proxy {
  /** The proxy's origin without user name and password: http://proxy.example.com:3128 */
  origin: string;
  /** The value of the header Proxy-Authorization; null if the URL has no user name. */
  authorization: string | null;
  /** The name of the variable: HTTPS_PROXY or https_proxy. */
  source: string;
}

/**
 * Returns the proxy for requests to the Worker; null if there is none. Throws, with the variable to change, for an
 * invalid URL. HTTP_PROXY has no effect, since no request without TLS leaves this machine.
 */
export function proxyTo(origin: string, environment: NodeJS.ProcessEnv): Proxy | null {
  const proxy = environmentProxy(environment);
  const url = new URL(origin);
  if (proxy === null || url.protocol !== "https:") return null;
  return isExcepted(url, exceptions(environment)) ? null : proxy;
}

/** Returns the text of NO_PROXY; "" if it is not set. */
export function exceptions(environment: NodeJS.ProcessEnv): string {
  return firstOf(["NO_PROXY", "no_proxy"], environment)?.text ?? "";
}

/** Returns the environment's proxy, also for NO_PROXY hosts. Throws, with the variable, for an invalid URL. */
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

/** Returns the first variable that is set. As in Go, upper case comes first, and an empty text counts as not set. */
function firstOf(names: string[], environment: NodeJS.ProcessEnv): { name: string; text: string } | null {
  for (const name of names) {
    const text = environment[name]?.trim();
    if (text) return { name, text };
  }
  return null;
}

function urlOf(text: string): URL | null {
  // The URL class would drop a line break, and use the text before an unencoded # as the host.
  if (/[\s\p{Cc}\\]/u.test(text)) return null;
  const whole = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) return null;
  return url.pathname === "/" && url.search === "" && url.hash === "" ? url : null;
}

/** Returns the value of Proxy-Authorization (RFC 7617, in UTF-8); null if the URL has no user name. */
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

/** Returns whether NO_PROXY (`list`) excepts this https:// URL, by the rules of Go's x/net/http/httpproxy. */
export function isExcepted(url: URL, list: string): boolean {
  const host = hostOf(url);
  if (host === "localhost" || isIn("127.0.0.0/8", host) || isIn("::1", host)) return true;
  return list
    .toLowerCase()
    .split(/[\s,]/)
    .some((entry) => entry === "*" || matches(entry, host, url.port || "443"));
}

/** Returns whether an entry of NO_PROXY matches a host and port. As in Go, an invalid entry matches no host. */
function matches(entry: string, host: string, port: string): boolean {
  if (isIn(entry, host)) return true;
  // In an entry, an IPv6 address with a port is in brackets.
  const [, bracketed, plain = "", ofPort] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(entry) ?? ([] as string[]);
  if (ofPort && ofPort !== port) return false;
  const named = bracketed ?? plain;
  if (isIP(named) !== 0) return isIn(named, host);
  const suffix = named.replace(/^\*(?=\.)/, "");
  if (suffix === "" || isIP(host) !== 0) return false;
  const domain = domainToASCII(suffix) || suffix;
  return domain.startsWith(".") ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/** Returns whether an address is in a network, such as 10.0.0.0/8 or one address; false if either is invalid. */
function isIn(network: string, address: string): boolean {
  const [of = "", bits, ...more] = network.split("/");
  const [family, length] = [isIP(of), isIP(of) === 4 ? 32 : 128];
  if (family === 0 || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return false;
  if (isIP(address) === 0 || Number(bits ?? 0) > length) return false;
  const list = new BlockList();
  list.addSubnet(of, bits === undefined ? length : Number(bits), family === 4 ? "ipv4" : "ipv6");
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}
