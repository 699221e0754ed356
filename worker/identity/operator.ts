// Decides who sent an operator's request, and their role: by a secret, else by a session's cookie, else by an assertion of
// Cloudflare Access. There are no default credentials: an unconfigured credential is never accepted.
import {
  base64url,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  jwtVerify,
  type JWTVerifyGetKey,
} from "jose";
import { entriesOf } from "../../shared/deployment/check-result.ts";
import { isSha256 } from "../../shared/deployment/secrets.ts";
import type { OperatorRole } from "../../shared/protocol/administration-api.ts";
import type { SessionAnswer } from "../../shared/protocol/administration-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { type Environment, origins } from "../env.ts";
import { digestOf } from "./jwt.ts";

export interface Operator {
  /** Name in the audit log. */
  who: string;
  /** `view` reads, `admin` reads and changes, `metrics` reads GET /metrics only. */
  role: OperatorRole;
  /** Absent if the request was authenticated by something else. */
  session?: { id: string; expiresAtMs: number };
}

/** Cloudflare Access adds this header to requests that it lets through. */
const ASSERTION = "cf-access-jwt-assertion";

/** No configured MAC key made the cookie, or its session has ended. */
export type BadSession = "forged session" | "session over";

/** Why a request is not an operator's. Only the log has it; the answer does not say why. */
export type NoOperator =
  /** `another site`: another site's page may have sent the request from an operator's browser. */
  | { reason: "no credentials" | "another secret" | "another site" | BadSession }
  /** No credential is configured. */
  | { reason: "nobody may" }
  | { reason: "assertion refused"; error: string };

/** Where credentials are looked up. */
export interface CredentialLookups {
  /** Typically the isolate's accessKeys. */
  accessKeysOf: (team: string) => JWTVerifyGetKey;
  /** Returns the operator whose secret has this SHA-256 (base64url); null if there is none. Typically the registry's. */
  operatorWith: (sha256: string) => Promise<Operator | null>;
  /** Returns the operator of the request's cookie; null if the request has no cookie. */
  session: (() => Promise<Operator | BadSession>) | null;
}

const OPERATOR_SECRET_PREFIX = "rco_";
/** Only such secrets are looked up in the registry: no other secret has this form. */
const isOperatorSecret = (text: string) => /^rco_[\w-]{43}$/.test(text);

/** Returns a new secret with 32 random bytes for one operator, and the hash that the registry stores. */
export async function mintOperatorSecret(): Promise<{ secret: string; sha256: string }> {
  const secret = OPERATOR_SECRET_PREFIX + base64url.encode(crypto.getRandomValues(new Uint8Array(32)));
  return { secret, sha256: await digestOf(secret) };
}

/** Returns the operator who sent the request. `secret`: its bearer token, or null. */
export async function operatorOf(
  request: Request,
  secret: string | null,
  env: Environment,
  { accessKeysOf, operatorWith, session }: CredentialLookups,
): Promise<Result<Operator, NoOperator>> {
  const isNamed = secret !== null && isOperatorSecret(secret);
  const named = isNamed ? await operatorWith(await digestOf(secret)) : null;
  if (named) return success(named);
  let bad: BadSession | null = null;
  // A request with a bearer token is not the session's operator, even if the browser adds its cookie.
  if (session !== null && !request.headers.has("authorization")) {
    if (isUnproven(request, env)) return failure({ reason: "another site" });
    const found = await session();
    if (typeof found === "object") return success(found);
    bad = found;
  }
  // Named operators of the registry were accepted above, whatever is configured. This request is refused and counted.
  const ways = waysIn(env);
  if (!ways.secret && !ways.access) return failure({ reason: isNamed ? "another secret" : "nobody may" });
  if (secret !== null) {
    if (await isSecret(secret, env.ADMIN_SECRET_SHA256))
      return success({ who: "admin secret", role: "admin" });
    if (await isSecret(secret, env.VIEW_SECRET_SHA256)) return success({ who: "view secret", role: "view" });
    return failure({ reason: "another secret" });
  }
  const assertion = request.headers.get(ASSERTION);
  if (assertion === null) return failure({ reason: bad ?? "no credentials" });
  // Access recognizes a browser by its cookie, which it also sends for other sites' pages.
  if (isCrossSite(request, env)) return failure({ reason: "another site" });
  const who = await accessIdentity(assertion, env, accessKeysOf);
  if (!who.ok) return failure({ reason: "assertion refused", error: who.error });
  return success({ who: who.value, role: isAdmin(who.value, env.ACCESS_ADMINS) ? "admin" : "view" });
}

/** Returns which credentials are configured. Named operators are not configured: the registry stores them. */
export function waysIn({
  ADMIN_SECRET_SHA256,
  VIEW_SECRET_SHA256,
  ACCESS_TEAM,
  ACCESS_AUD,
}: Environment): SessionAnswer["ways"] {
  const hashes = [ADMIN_SECRET_SHA256, VIEW_SECRET_SHA256].flatMap(hashesOf);
  return { secret: hashes.length > 0, access: Boolean(ACCESS_TEAM && ACCESS_AUD) };
}

/** Parses configured hashes and skips invalid ones, so that one typo does not lock out the others. */
function hashesOf(configured: string | undefined): Uint8Array[] {
  return entriesOf(configured ?? "")
    .filter(isSha256)
    .map((hash) => base64url.decode(hash));
}

/**
 * Returns whether a configured hash is of this secret. Several hashes, separated by spaces, are valid while a secret is
 * being replaced. A secret must have 32 random bytes: a plain hash does not protect a weak one.
 */
async function isSecret(secret: string, configuredSha256: string | undefined): Promise<boolean> {
  const actual = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  return hashesOf(configuredSha256).some((expected) => crypto.subtle.timingSafeEqual(expected, actual));
}

/** Returns whether this is the secret for GET /metrics. */
export function isScrapeSecret(secret: string | null, env: Environment): Promise<boolean> {
  return secret === null ? Promise.resolve(false) : isSecret(secret, env.METRICS_SECRET_SHA256);
}

/** Compares names without regard to case, as mail systems do. */
function isAdmin(who: string, admins = ""): boolean {
  return admins.toLowerCase().split(/\s+/).includes(who.toLowerCase());
}

/** Returns whether the browser's headers name another site's page as the sender. Other programs send neither header. */
export function isCrossSite(request: Request, env: Environment): boolean {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  return origin !== null && origin !== new URL(request.url).origin && !origins(env).includes(origin);
}

/**
 * Returns whether another site's page may have sent this request with a cookie. A change or a WebSocket needs a header
 * that proves the contrary; a request that only reads does not.
 */
function isUnproven(request: Request, env: Environment): boolean {
  if (isCrossSite(request, env)) return true;
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (isRead && !request.headers.has("upgrade")) return false;
  return request.headers.get("sec-fetch-site") !== "same-origin" && !request.headers.has("origin");
}

type AccessSettings = Pick<Environment, "ACCESS_TEAM" | "ACCESS_AUD">;

/**
 * Verifies Cloudflare Access's assertion: a JWT, signed by the team, for this application. Returns the person's mail
 * address or the service token's client ID. Only the Worker's log has the error.
 */
async function accessIdentity(
  assertion: string,
  { ACCESS_TEAM: team, ACCESS_AUD: audience }: AccessSettings,
  keysOf: (team: string) => JWTVerifyGetKey, // typically the isolate's accessKeys
): Promise<Result<string>> {
  if (!team || !audience) return failure("Access is not configured");
  try {
    const { payload } = await jwtVerify(assertion, keysOf(team), {
      algorithms: ["RS256"],
      issuer: issuerOf(team),
      audience,
      requiredClaims: ["exp"],
    });
    const { email, common_name: service } = payload;
    const who = email || service;
    return typeof who === "string" && who !== ""
      ? success(who)
      : failure("it names no person and no service");
  } catch (error) {
    return failure(String(error));
  }
}

/** Fetches the team's public keys. jose caches them for ten minutes. */
export function accessKeys(
  team: string,
  fetch: FetchImplementation, // typically the global one
): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(`${issuerOf(team)}/cdn-cgi/access/certs`), { [customFetch]: fetch });
}

const issuerOf = (team: string) => `https://${team}.cloudflareaccess.com`;

/** How a request was authenticated, without the secret: `isGood` checks later whether it is still valid. */
export type Credential =
  /** SHA-256 of a secret, in base64url. */
  | { sha256: string }
  /** ID of a session. */
  | { session: string }
  /** Expiry of an assertion of Cloudflare Access. */
  | { untilMs: number };

type SecretHashes = Pick<Environment, "ADMIN_SECRET_SHA256" | "VIEW_SECRET_SHA256">;

/** Typically the registry. */
interface CredentialKeepers {
  operatorWith: (sha256: string) => Promise<{ role: string } | null>;
  sessionWith: (id: string) => Promise<object | null>;
}

/** Returns the credential of an accepted request. */
export async function credentialOf(secret: string | null, assertion: string): Promise<Credential> {
  if (secret !== null) return { sha256: await digestOf(secret) };
  const payload = base64url.decode(assertion.split(".")[1] ?? "");
  const { exp = 0 } = JSON.parse(new TextDecoder().decode(payload)) as { exp?: number };
  return { untilMs: 1000 * exp };
}

/** Returns whether the credential still lets its operator read. */
export async function isGood(
  credential: Credential,
  env: AccessSettings & SecretHashes,
  nowMs: number,
  { operatorWith, sessionWith }: CredentialKeepers,
): Promise<boolean> {
  if ("untilMs" in credential)
    return Boolean(env.ACCESS_TEAM && env.ACCESS_AUD) && nowMs < credential.untilMs;
  if ("session" in credential) return (await sessionWith(credential.session)) !== null;
  const { sha256 } = credential;
  if (configuredRole(sha256, env) !== null) return true;
  return ((await operatorWith(sha256))?.role ?? "metrics") !== "metrics";
}

/** Returns the role of the configured secret with this SHA-256 (base64url); null if no configured secret has it. */
export function configuredRole(sha256: string, env: SecretHashes): "admin" | "view" | null {
  const isAmong = (configured: string | undefined) =>
    hashesOf(configured).some((hash) => base64url.encode(hash) === sha256);
  if (isAmong(env.ADMIN_SECRET_SHA256)) return "admin";
  return isAmong(env.VIEW_SECRET_SHA256) ? "view" : null;
}
