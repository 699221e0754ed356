// Which proxy the environment names for the way to the Worker: HTTPS_PROXY and NO_PROXY, read as Go and curl read them.
// Opens no connection. No text made here holds the proxy's password.
import { isExcepted } from "./no-proxy.ts";

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
