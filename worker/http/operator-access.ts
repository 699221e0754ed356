// Checks who may use an operators' route, and reads and sets the session's cookie.
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { Result } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { origins, registry } from "../env.ts";
import { type BadSession, type NoOperator, type Operator, operatorOf } from "../identity/operator.ts";
import { readSessionToken, sessionId } from "../identity/issued.ts";
import { logNote } from "../log.ts";
import { refuseEarly, refuseUnproven } from "./failure-limits.ts";
import { type App, bearer, macKeysOf, refuse } from "./responses.ts";

/** How long an isolate trusts a secret or a session without asking the registry. A revoked one works no longer. */
export const OPERATOR_KEPT_MS = 10_000;
/** Operators that are remembered. */
const MAX_OPERATORS = 1000;

/** Admits operators of the roles `view` and `admin`. */
export const viewer = operatorFor(true);

/** Admits admins only. */
export const administrator = operatorFor(false);

function operatorFor(isLook: boolean) {
  return createMiddleware<App>(async (c, next) => {
    const found = await findOperator(c);
    if (!found.ok) return refuseOperator(c, found.error);
    const operator = found.value;
    const refused = await refuseRole(c, operator, isLook);
    if (refused) return refused;
    c.set("operator", operator);
    await next();
    return undefined;
  });
}

/** Returns the operator that sent the request: by a secret, else by a session, else by Access. */
export function findOperator(c: Context<App>): Promise<Result<Operator, NoOperator>> {
  const cookie = sessionCookie(c);
  return operatorOf(c.req.raw, bearer(c.req.header("authorization")), c.env, {
    ...lookups(c),
    session: cookie === null ? null : () => operatorIn(c, cookie),
  });
}

/** Returns the operator with this secret. The request's other credentials do not count. */
export function operatorWithSecret(c: Context<App>, secret: string): Promise<Result<Operator, NoOperator>> {
  return operatorOf(c.req.raw, secret, c.env, { ...lookups(c), session: null });
}

export function refuseOperator(c: Context<App>, error: NoOperator): Response | Promise<Response> {
  if (error.reason === "nobody may") return refuse("not-configured", { detail: NOBODY_MAY });
  if (error.reason === "assertion refused")
    logNote({ message: "Access assertion refused", error: error.error });
  return refuseUnproven(c, "forbidden");
}

/** Returns null if the role allows the request. */
export async function refuseRole(
  c: Context<App>,
  operator: Operator,
  isLook: boolean,
): Promise<Response | null> {
  const mayNot = forbidden(operator, isLook, c.req.path);
  if (mayNot === null) return null;
  await registry(c.env).noteRefusedChange({ who: operator.who, what: `${c.req.method} ${c.req.path}` });
  return refuse("forbidden", { detail: `${operator.who} may ${mayNot}.` });
}

/** Returns what this role may do instead; null if it may do this. */
function forbidden({ role }: Operator, isLook: boolean, path: string): string | null {
  if (role === "metrics") return path === "/metrics" ? null : "read /metrics, and nothing else";
  return role === "admin" || isLook ? null : "look, and change nothing";
}

const lookups = (c: Context<App>) => ({
  accessKeysOf: c.get("isolate").accessKeys,
  operatorWith: (sha256: string) => operatorWith(c, sha256),
});

/** An address that is above the limit of failures does not reach the registry. */
async function operatorWith(c: Context<App>, sha256: string): Promise<Operator | null> {
  return keptFor(c, sha256, async () => {
    const found = refuseEarly(c) ? null : await registry(c.env).useOperator(sha256);
    if (!found) return null;
    const { name, role, expiresAtMs } = found;
    return { operator: { who: `operator ${name}`, role }, untilMs: expiresAtMs };
  });
}

/** Returns the operator of this session. A forged cookie costs one MAC. Failures from the same address do not matter. */
async function operatorIn(c: Context<App>, cookie: string): Promise<Operator | BadSession> {
  const token = await readSessionToken(macKeysOf(c), cookie, currentMs());
  if (token === "forged") return "forged session";
  if (token === "over") return "session over";
  const id = await sessionId(token.nonce);
  const operator = await keptFor(c, id, async () => {
    const found = await registry(c.env).session(id);
    if (!found) return null;
    const { who, role, expiresAtMs } = found;
    return { operator: { who, role, session: { id, expiresAtMs } }, untilMs: expiresAtMs };
  });
  return operator ?? "session over";
}

/** Remembers an operator for OPERATOR_KEPT_MS. A failure is not remembered. */
async function keptFor(
  c: Context<App>,
  key: string,
  ask: () => Promise<{ operator: Operator; untilMs: number } | null>,
): Promise<Operator | null> {
  const { operators } = c.get("isolate");
  const known = operators.get(key);
  if (known && known.untilMs > currentMs()) return known.operator;
  operators.delete(key);
  const found = await ask();
  if (!found) return null;
  if (operators.size >= MAX_OPERATORS) operators.clear();
  operators.set(key, { ...found, untilMs: Math.min(currentMs() + OPERATOR_KEPT_MS, found.untilMs) });
  return found.operator;
}

const NOBODY_MAY =
  "No operator can sign in: set ADMIN_SECRET_SHA256 to the SHA-256 of the admin secret, in base64url (docs/deploy.md).";

/** Browsers accept this name over https only, for this host only. */
const SECURE_NAME = "__Host-rollcall";
/** For a local cluster: some browsers accept no Secure cookie over http, not even from loopback. */
const PLAIN_NAME = "rollcall";

/** Returns the cookie's value; null if none was sent. */
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

/** A deployment whose origins are all https never sends its cookie over http. */
function nameFor(c: Context<App>): string {
  const isPlain = c.req.url.startsWith("http:") && origins(c.env).some((each) => each.startsWith("http:"));
  return isPlain ? PLAIN_NAME : SECURE_NAME;
}
