// The session's cookie in a request and in an answer: its name and attributes. Decides about no operator.
import type { Context } from "hono";
import { origins } from "../env.ts";
import type { App } from "./responses.ts";

/** Browsers take it over https alone, for this host alone, and from no subdomain. */
const SECURE_NAME = "__Host-rollcall";
/** For a local cluster: some browsers take no Secure cookie over http, not even from loopback. */
const PLAIN_NAME = "rollcall";

/** The cookie's value; null: none was sent. */
export function sessionCookie(c: Context<App>): string | null {
  const start = `${nameFor(c)}=`;
  const cookies = (c.req.header("cookie") ?? "").split(";").map((each) => each.trim());
  return cookies.find((each) => each.startsWith(start))?.slice(start.length) ?? null;
}

export function setSessionCookie(c: Context<App>, value: string, maxAgeSeconds: number): void {
  const name = nameFor(c);
  const secure = name === SECURE_NAME ? "; Secure" : "";
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
  c.header("set-cookie", `${name}=${value}; ${attributes}`);
}

export function clearSessionCookie(c: Context<App>): void {
  setSessionCookie(c, "", 0);
}

/** A deployment whose origins are all https never sends its cookie over http, whatever a request came by. */
function nameFor(c: Context<App>): string {
  const isPlain = c.req.url.startsWith("http:") && origins(c.env).some((each) => each.startsWith("http:"));
  return isPlain ? PLAIN_NAME : SECURE_NAME;
}
