// Decides who an operator is and which role they have: by a secret, else by a session's cookie, else by an assertion of
// Cloudflare Access. There are no default credentials: a credential that is not configured lets nobody in.
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
import type { SessionAnswer } from "../../shared/protocol/session-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { type Environment, origins } from "../env.ts";
import { digestOf } from "./jwt.ts";

/** `view` reads, `admin` changes as well, `metrics` reads the metrics alone. */
type Role = OperatorRole;

export interface Operator {
  /** For the audit log. */
  who: string;
  role: Role;
  /** Present: they came by it. */
  session?: { id: string; expiresAtMs: number };
}

/** The header that Access adds to requests that it lets through. */
const ASSERTION = "cf-access-jwt-assertion";

/** Its MAC is by none of our keys; or it is a session's that has ended. */
export type BadSession = "forged session" | "session over";

/** For the log alone: the answer does not say why somebody is no operator. */
export type NoOperator =
  /** `another site`: a page of another site may have sent this from an operator's browser. */
  | { reason: "no credentials" | "another secret" | "another site" | BadSession }
  /** No credential is configured by which anybody could get in. */
  | { reason: "nobody may" }
  | { reason: "assertion refused"; error: string };

/** Whom is asked about credentials. */
export interface CredentialLookups {
  /** Typically the isolate's accessKeys. */
  accessKeysOf: (team: string) => JWTVerifyGetKey;
  /** The operator whose secret has this SHA-256, in base64url; null: nobody has it (any more). Typically the registry's. */
  operatorWith: (sha256: string) => Promise<Operator | null>;
  /** Whose session the request's cookie is; null: it has none. */
  session: (() => Promise<Operator | BadSession>) | null;
}

const OPERATOR_SECRET_PREFIX = "rco_";
/** Nobody else's secrets look like it, so that no other one is looked up. */
const isOperatorSecret = (text: string) => /^rco_[\w-]{43}$/.test(text);

/** A secret of an operator's own, of 32 random bytes, and what is kept of it. */
export async function mintOperatorSecret(): Promise<{ secret: string; sha256: string }> {
  const secret = OPERATOR_SECRET_PREFIX + base64url.encode(crypto.getRandomValues(new Uint8Array(32)));
  return { secret, sha256: await digestOf(secret) };
}

/** The operator who sent this. `secret`: its bearer token, or null. */
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
  // Who says who they are is not taken for somebody else, whom their browser would sign in.
  if (session !== null && !request.headers.has("authorization")) {
    if (isUnproven(request, env)) return failure({ reason: "another site" });
    const found = await session();
    if (typeof found === "object") return success(found);
    bad = found;
  }
  // Whoever has a name could get in all the same: who has none is refused like everybody, and counted.
  if (!mayAnybody(env)) return failure({ reason: isNamed ? "another secret" : "nobody may" });
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

/** Is there a credential by which an operator could get in? */
function mayAnybody(env: Environment): boolean {
  const { secret, access } = waysIn(env);
  return secret || access;
}

/** Which ways in are configured. Operators with names are not: the registry has them. */
export function waysIn({
  ADMIN_SECRET_SHA256,
  VIEW_SECRET_SHA256,
  ACCESS_TEAM,
  ACCESS_AUD,
}: Environment): SessionAnswer["ways"] {
  const hashes = [ADMIN_SECRET_SHA256, VIEW_SECRET_SHA256].flatMap(hashesOf);
  return { secret: hashes.length > 0, access: Boolean(ACCESS_TEAM && ACCESS_AUD) };
}

/** What is no hash lets nobody in, and keeps nobody out who has another one. */
function hashesOf(configured: string | undefined): Uint8Array[] {
  return entriesOf(configured ?? "")
    .filter(isSha256)
    .map((hash) => base64url.decode(hash));
}

/**
 * Is it one of the configured secrets, by their hashes? Several hashes are separated by spaces, for the time in which a
 * secret is replaced. A secret must be random and long (32 bytes): a plain hash does not protect a weak one.
 */
async function isSecret(secret: string, configuredSha256: string | undefined): Promise<boolean> {
  const actual = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  return hashesOf(configuredSha256).some((expected) => crypto.subtle.timingSafeEqual(expected, actual));
}

/** Is it the secret for GET /metrics? */
export function isScrapeSecret(secret: string | null, env: Environment): Promise<boolean> {
  return secret === null ? Promise.resolve(false) : isSecret(secret, env.METRICS_SECRET_SHA256);
}

/** Names are compared without regard to case, as mail systems do. */
function isAdmin(who: string, admins = ""): boolean {
  return admins.toLowerCase().split(/\s+/).includes(who.toLowerCase());
}

/** Does a browser say that a page of another site sent this? Programs that are no browsers send neither header. */
export function isCrossSite(request: Request, env: Environment): boolean {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  return origin !== null && origin !== new URL(request.url).origin && !origins(env).includes(origin);
}

/**
 * May another site's page have sent this? Of what a cookie signs, a change and a WebSocket have to prove the contrary:
 * a browser that says nothing of a page is not believed.
 */
function isUnproven(request: Request, env: Environment): boolean {
  if (isCrossSite(request, env)) return true;
  const isLook = request.method === "GET" || request.method === "HEAD";
  if (isLook && !request.headers.has("upgrade")) return false;
  return request.headers.get("sec-fetch-site") !== "same-origin" && !request.headers.has("origin");
}

// Verifies Cloudflare Access's assertion about who sent a request: a JWT by one of the team's keys, for this
// application. Decides about no role.

type AccessSettings = Pick<Environment, "ACCESS_TEAM" | "ACCESS_AUD">;

/** The person's mail address, or the service token's client ID. The error is for the Worker's log alone. */
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
    return typeof who === "string" && who !== "" ? success(who) : failure("it vouches for nobody");
  } catch (error) {
    return failure(String(error));
  }
}

/** The team's public keys. jose keeps the fetched ones for ten minutes. */
export function accessKeys(
  team: string,
  fetch: FetchImplementation, // typically the global one
): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(`${issuerOf(team)}/cdn-cgi/access/certs`), { [customFetch]: fetch });
}

const issuerOf = (team: string) => `https://${team}.cloudflareaccess.com`;

// What an operator got in by, in a form that can be kept: whether it is good yet can be asked later. Holds no secret.

export type Credential =
  /** A secret, by its SHA-256 in base64url. */
  | { sha256: string }
  /** A session, by its ID. */
  | { session: string }
  /** An assertion of Cloudflare Access. */
  | { untilMs: number };

type SecretHashes = Pick<Environment, "ADMIN_SECRET_SHA256" | "VIEW_SECRET_SHA256">;

/** Whom is asked about credentials: typically the registry. */
interface CredentialKeepers {
  operatorWith: (sha256: string) => Promise<{ role: string } | null>;
  sessionWith: (id: string) => Promise<object | null>;
}

/** Of a request that has been let in. */
export async function credentialOf(secret: string | null, assertion: string): Promise<Credential> {
  if (secret !== null) return { sha256: await digestOf(secret) };
  const payload = base64url.decode(assertion.split(".")[1] ?? "");
  const { exp = 0 } = JSON.parse(new TextDecoder().decode(payload)) as { exp?: number };
  return { untilMs: 1000 * exp };
}

/** Would it let its operator look now? */
export async function isGood(
  credential: Credential,
  env: Pick<Environment, "ACCESS_TEAM" | "ACCESS_AUD"> & SecretHashes,
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

/** The role of the configured secret with this SHA-256, in base64url; null: it is none of them. */
export function configuredRole(sha256: string, env: SecretHashes): "admin" | "view" | null {
  const isAmong = (configured: string | undefined) =>
    hashesOf(configured).some((hash) => base64url.encode(hash) === sha256);
  if (isAmong(env.ADMIN_SECRET_SHA256)) return "admin";
  return isAmong(env.VIEW_SECRET_SHA256) ? "view" : null;
}
