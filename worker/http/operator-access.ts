// Checks who may use an operators' route, and reads and sets the session's cookie.
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { parseOperatorSelector } from "../../shared/fleet/search-filter.ts";
import { isAtLeast, type ReadingRole } from "../../shared/protocol/administration-api.ts";
import { CONFINEMENT, type OperatorRoute } from "../../shared/protocol/confinement.ts";
import { ROUTES } from "../../shared/protocol/routes.ts";
import type { Result } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { fleetIndex, origins, registry } from "../env.ts";
import { type BadSession, type NoOperator, type Operator, operatorOf } from "../identity/operator.ts";
import { readSessionToken, sessionId } from "../identity/issued.ts";
import { logFailure, logNote } from "../log.ts";
import { refuseEarly, refuseUnproven } from "./failure-limits.ts";
import { type App, bearer, macKeysOf, refuse } from "./responses.ts";

/** The time for which an isolate trusts a secret or session without asking the registry, even after its revocation. */
export const OPERATOR_KEPT_MS = 10_000;
/** The most operators that an isolate remembers. */
export const MAX_OPERATORS = 1000;

/** Admits operators whose role may read. */
export const viewer = operatorFor("view");

/** Returns the middleware that admits operators of at least this role. */
export function operatorFor(least: ReadingRole) {
  return createMiddleware<App>(async (c, next) => {
    const found = await findOperator(c);
    if (!found.ok) return refuseOperator(c, found.error);
    const operator = found.value;
    const refused = await refuseRole(c, operator, least);
    if (refused) return refused;
    c.set("operator", operator);
    await next();
    return undefined;
  });
}

/** Returns the operator who sent the request: by a secret, or else by a session, or else by Access. */
export function findOperator(c: Context<App>): Promise<Result<Operator, NoOperator>> {
  const cookie = sessionCookie(c);
  return operatorOf(c.req.raw, bearer(c.req.header("authorization")), c.env, {
    ...lookups(c),
    session: cookie === null ? null : () => operatorIn(c, cookie),
  });
}

/**
 * Reports whether the operator's credential is still valid, whatever this isolate remembers, and the machine still matches
 * the operator's selector.
 */
export async function mayStillAsk(c: Context<App>, machine: string): Promise<boolean> {
  const rights = ({ who, role, selector }: Operator) => JSON.stringify([who, role, selector]);
  c.set("isolate", { ...c.get("isolate"), operators: new Map() });
  const found = await findOperator(c);
  if (!found.ok || rights(found.value) !== rights(c.var.operator)) return false;
  return (await matchingRows(c, [{ name: machine }])).length > 0;
}

/** Returns the operator with this secret, whatever other credentials the request has. */
export function operatorWithSecret(c: Context<App>, secret: string): Promise<Result<Operator, NoOperator>> {
  return operatorOf(c.req.raw, secret, c.env, { ...lookups(c), session: null });
}

export function refuseOperator(c: Context<App>, error: NoOperator): Response | Promise<Response> {
  if (error.reason === "nobody may") return refuse("not-configured", { detail: NOBODY_MAY });
  if (error.reason === "assertion refused")
    logNote({ message: "Access assertion refused", error: error.error });
  return refuseUnproven(c, "forbidden");
}

/** Refuses the request if the operator's role does not allow it; null otherwise. */
export async function refuseRole(
  c: Context<App>,
  operator: Operator,
  least: ReadingRole,
): Promise<Response | null> {
  const mayNot = forbidden(operator, least, c.req.path);
  if (mayNot === null) return null;
  await noteRefused(c, operator.who);
  return refuse("forbidden", { detail: `${operator.who} may ${mayNot}.` });
}

/**
 * Returns the names of the machines that match the operator's selector; null if the operator has none. `among`: null for
 * all machines.
 */
export async function namesWithin(
  c: Context<App>,
  among: string[] | null = null,
): Promise<ReadonlySet<string> | null> {
  const { selector } = c.var.operator;
  return selector ? new Set(await fleetIndex(c.env).matching(selector, among)) : null;
}

/** Returns the rows whose machines match the operator's selector; all rows if the operator has none. */
export async function matchingRows<T extends { name: string }>(c: Context<App>, rows: T[]): Promise<T[]> {
  const names = await namesWithin(c, rows.length === 1 ? [rows[0]!.name] : null);
  return names ? rows.filter(({ name }) => names.has(name)) : rows;
}

const noteRefused = (c: Context<App>, who: string) =>
  registry(c.env).noteRefusedChange({ who, what: `${c.req.method} ${c.req.path}` });

/** Returns what the role allows, for the refusal of a request; null if the role allows the request. */
function forbidden({ role }: Operator, least: ReadingRole, path: string): string | null {
  if (role === "metrics") return path === "/metrics" ? null : "read /metrics, and nothing else";
  if (isAtLeast(role, least)) return null;
  return role === "view"
    ? "look, and change nothing"
    : "look, ask questions, try rules and end conditions of problem detectors, and change nothing else";
}

/**
 * Refuses a request about machines that the operator's selector does not match; null if the request may be answered. A
 * machine that does not match gets the same answer as a machine that does not exist.
 */
export async function refuseOutside(c: Context<App>, route: OperatorRoute): Promise<Response | null> {
  const operator = c.get("operator") as Operator | undefined;
  if (!operator?.selector) return null;
  const confinement = CONFINEMENT[route];
  if (confinement === "own" || confinement === "list" || confinement === "bulk") return null;
  if (confinement === "machine") {
    const name = c.req.param("name") ?? "";
    if ((await fleetIndex(c.env).matching(operator.selector, [name])).length > 0) return null;
  }
  const { who } = operator;
  if (ROUTES[route].who !== "view") await noteRefused(c, who);
  if (confinement === "machine") return refuse("not-found");
  return refuse("forbidden", { detail: `${who} has a selector, and ${confinement}.` });
}

const lookups = (c: Context<App>) => ({
  accessKeysOf: c.get("isolate").accessKeys,
  operatorWith: (sha256: string) => operatorWith(c, sha256),
});

/** Returns the operator with this secret. Does not ask the registry for an address above the limit of failures. */
async function operatorWith(c: Context<App>, sha256: string): Promise<Operator | null> {
  return keptFor(c, sha256, async () => {
    const found = refuseEarly(c) ? null : await registry(c.env).useOperator(sha256, true);
    if (!found) return null;
    const { name, role, selector, expiresAtMs } = found;
    return { operator: confinedTo(selector, { who: `operator ${name}`, role }), untilMs: expiresAtMs };
  });
}

/** Returns the operator with the selector, undefined for all machines; null if the text is no operator's selector. */
function confinedTo(text: string | undefined, operator: Operator): Operator | null {
  if (text === undefined) return operator;
  const selector = parseOperatorSelector(text);
  return selector.ok ? { ...operator, selector: selector.value, selectorText: text } : null;
}

/** Returns the operator of a session's cookie. Checks no limit of failures, since a forged cookie costs only one MAC. */
async function operatorIn(c: Context<App>, cookie: string): Promise<Operator | BadSession> {
  const token = await readSessionToken(macKeysOf(c), cookie, currentMs());
  if (token === "forged") return "forged session";
  if (token === "over") return "session over";
  const id = await sessionId(token.nonce);
  const operator = await keptFor(c, id, async () => {
    const found = await registry(c.env).session(id, true);
    if (!found) return null;
    const { who, role, selector, expiresAtMs } = found;
    const operator = confinedTo(selector, { who, role, session: { id, expiresAtMs } });
    return { operator, untilMs: expiresAtMs };
  });
  return operator ?? "session over";
}

/** Returns an operator from the cache, or from `ask`. Caches an operator for OPERATOR_KEPT_MS, and no failure. */
async function keptFor(
  c: Context<App>,
  key: string,
  ask: () => Promise<{ operator: Operator | null; untilMs: number } | null>,
): Promise<Operator | null> {
  const { operators } = c.get("isolate");
  const known = operators.get(key);
  if (known && known.untilMs > currentMs()) return known.operator;
  const { operator, untilMs } = (await ask()) ?? {};
  if (!operator || untilMs === undefined) return null;
  if (operators.size >= MAX_OPERATORS) operators.clear();
  operators.set(key, { operator, untilMs: Math.min(currentMs() + OPERATOR_KEPT_MS, untilMs) });
  return operator;
}

/** Ends the feeds of a credential that has ended. After a failure, a feed ends with its next message within a minute. */
export function endFeeds(c: Context<App>): void {
  const failed = (error: unknown) => {
    logFailure({ message: "the feeds could not be checked", error: String(error) });
  };
  c.executionCtx.waitUntil(fleetIndex(c.env).recheckFeeds().catch(failed));
}

const NOBODY_MAY =
  "No operator can sign in: set ADMIN_SECRET_SHA256 to the SHA-256 of the admin secret, in base64url (docs/deploy.md).";

/** The cookie's name over https. A browser accepts a cookie with this prefix for this host only. */
const SECURE_NAME = "__Host-rollcall";
/** The cookie's name in a local cluster: some browsers accept no Secure cookie over http, not even from loopback. */
const PLAIN_NAME = "rollcall";

/** Returns the value of the session's cookie; null if the request has no cookie. */
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

/** Returns the cookie's name. PLAIN_NAME needs an http origin among ORIGINS: other deployments never use it. */
function nameFor(c: Context<App>): string {
  const isPlain = c.req.url.startsWith("http:") && origins(c.env).some((each) => each.startsWith("http:"));
  return isPlain ? PLAIN_NAME : SECURE_NAME;
}
