// Decides which operator sent a request, and with which role: by a secret, or else by a session's cookie, or else
// by an assertion of Cloudflare Access. No credential has a default: an unconfigured credential is never accepted.
import {
  base64url,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  jwtVerify,
  type JWTVerifyGetKey,
} from "jose";
import { accessRights } from "../../shared/protocol/access-operators.ts";
import { entriesOf } from "../../shared/deployment/check-result.ts";
import { isSha256 } from "../../shared/deployment/secrets.ts";
import type { LabelRequirement } from "../../shared/kubernetes/label-selector.ts";
import type { OperatorRole } from "../../shared/protocol/administration-api.ts";
import type { SessionAnswer } from "../../shared/protocol/administration-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { type Environment, origins } from "../env.ts";
import { digestOf } from "./jwt.ts";

export interface Operator {
  /** The operator's name in the audit log. */
  who: string;
  role: OperatorRole;
  /** The machines for which the role is; absent for all machines. */
  selector?: LabelRequirement[];
  /** The text of `selector`, as it was given. */
  selectorText?: string;
  /** The session of the request; absent if another credential authenticated the request. */
  session?: { id: string; expiresAtMs: number };
}

/** The header that Cloudflare Access adds to the requests that it admits. */
const ASSERTION = "cf-access-jwt-assertion";

/** `forged session`: no configured MAC key made the cookie. `session over`: the session has ended. */
export type BadSession = "forged session" | "session over";

/** Why a request has no operator. Only the log states the reason; the answer does not. */
export type NoOperator =
  /** `another site`: a page of another site may have sent the request from an operator's browser. */
  | { reason: "no credentials" | "another secret" | "another site" | BadSession }
  /** The deployment has no configured credential. */
  | { reason: "nobody may" }
  | { reason: "assertion refused"; error: string };

/** The functions that look up credentials. */
export interface CredentialLookups {
  /** Returns the public keys of a team of Cloudflare Access; typically the isolate's accessKeys. */
  accessKeysOf: (team: string) => JWTVerifyGetKey;
  /** Returns the operator whose secret has this SHA-256 (base64url), or null. Typically asks the registry. */
  operatorWith: (sha256: string) => Promise<Operator | null>;
  /** Returns the operator of the request's cookie; the function is null if the request has no cookie. */
  session: (() => Promise<Operator | BadSession>) | null;
}

const OPERATOR_SECRET_PREFIX = "rco_";
/** Reports whether the text has the form of a named operator's secret. Only such texts are looked up in the registry. */
const isOperatorSecret = (text: string) => /^rco_[\w-]{43}$/.test(text);

/** Returns a new secret for one operator, with 32 random bytes, and the hash that the registry stores. */
export async function mintOperatorSecret(): Promise<{ secret: string; sha256: string }> {
  const secret = OPERATOR_SECRET_PREFIX + base64url.encode(crypto.getRandomValues(new Uint8Array(32)));
  return { secret, sha256: await digestOf(secret) };
}

/** Returns the operator who sent the request. `secret`: the request's bearer token, or null. */
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
  // A request with a bearer token never uses the session, even if the browser adds the session's cookie.
  if (session !== null && !request.headers.has("authorization")) {
    if (isUnproven(request, env)) return failure({ reason: "another site" });
    const found = await session();
    if (typeof found === "object") return success(found);
    bad = found;
  }
  // The registry's operators were accepted above. Without a configured credential, all other operators are refused.
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
  // Access admits a browser by a cookie, which the browser also sends with requests of other sites' pages.
  if (isCrossSite(request, env)) return failure({ reason: "another site" });
  const who = await accessIdentity(assertion, env, accessKeysOf);
  if (!who.ok) return failure({ reason: "assertion refused", error: who.error });
  const rights = accessRights(who.value, env.ACCESS_ADMINS ?? "", env.ACCESS_OPERATORS ?? "");
  return rights
    ? success({ who: who.value, ...rights })
    : failure({ reason: "assertion refused", error: "ACCESS_OPERATORS is invalid" });
}

/** Reports which kinds of operators' credentials are configured, apart from the operators in the registry. */
export function waysIn({
  ADMIN_SECRET_SHA256,
  VIEW_SECRET_SHA256,
  ACCESS_TEAM,
  ACCESS_AUD,
}: Environment): SessionAnswer["ways"] {
  const hashes = [ADMIN_SECRET_SHA256, VIEW_SECRET_SHA256].flatMap(hashesOf);
  return { secret: hashes.length > 0, access: Boolean(ACCESS_TEAM && ACCESS_AUD) };
}

/** Parses configured hashes. Skips invalid hashes, so that one typo does not lock out the other operators. */
function hashesOf(configured: string | undefined): Uint8Array[] {
  return entriesOf(configured ?? "")
    .filter(isSha256)
    .map((hash) => base64url.decode(hash));
}

/**
 * Reports whether a configured hash is of this secret. While a secret is being replaced, several hashes are valid,
 * separated by spaces. A secret must have 32 random bytes: a plain hash does not protect a weak secret.
 */
async function isSecret(secret: string, configuredSha256: string | undefined): Promise<boolean> {
  const actual = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  return hashesOf(configuredSha256).some((expected) => crypto.subtle.timingSafeEqual(expected, actual));
}

/** Reports whether this is the secret for GET /metrics. */
export function isScrapeSecret(secret: string | null, env: Environment): Promise<boolean> {
  return secret === null ? Promise.resolve(false) : isSecret(secret, env.METRICS_SECRET_SHA256);
}

/** Reports whether the browser's headers name another site as the sender. Other programs send no such headers. */
export function isCrossSite(request: Request, env: Environment): boolean {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  return origin !== null && origin !== new URL(request.url).origin && !origins(env).includes(origin);
}

/** Reports whether another site's page may have sent this request. Changes and WebSockets must prove the contrary. */
function isUnproven(request: Request, env: Environment): boolean {
  if (isCrossSite(request, env)) return true;
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (isRead && !request.headers.has("upgrade")) return false;
  return request.headers.get("sec-fetch-site") !== "same-origin" && !request.headers.has("origin");
}

type AccessSettings = Pick<Environment, "ACCESS_TEAM" | "ACCESS_AUD">;

/**
 * Verifies Cloudflare Access's assertion: a JWT, signed by the team, for this application. Returns the person's
 * mail address or the service token's client ID. The error is for the Worker's log only.
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

/** Returns the function that fetches the team's public keys. jose caches the keys for ten minutes. */
export function accessKeys(
  team: string,
  fetch: FetchImplementation, // typically the global one
): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(`${issuerOf(team)}/cdn-cgi/access/certs`), { [customFetch]: fetch });
}

const issuerOf = (team: string) => `https://${team}.cloudflareaccess.com`;

/** The credential of an accepted request, without the secret. `isGood` checks later whether it is still valid. */
export type Credential =
  /** The SHA-256 of a secret, in base64url. */
  | { sha256: string }
  /** The ID of a session. */
  | { session: string }
  /** The expiry of an assertion of Cloudflare Access. */
  | { untilMs: number };

type SecretHashes = Pick<Environment, "ADMIN_SECRET_SHA256" | "VIEW_SECRET_SHA256">;

/** The functions that look up a stored credential: typically the registry's. */
interface CredentialKeepers {
  operatorWith: (sha256: string) => Promise<{ role: string; selector?: string } | null>;
  sessionWith: (id: string) => Promise<{ selector?: string } | null>;
}

/** Returns the credential of an accepted request. */
export async function credentialOf(secret: string | null, assertion: string): Promise<Credential> {
  if (secret !== null) return { sha256: await digestOf(secret) };
  const payload = base64url.decode(assertion.split(".")[1] ?? "");
  const { exp = 0 } = JSON.parse(new TextDecoder().decode(payload)) as { exp?: number };
  return { untilMs: 1000 * exp };
}

/**
 * Reports whether the operator with this credential still has a role that may read the machines of `selector`.
 * `selector`: undefined for all machines.
 */
export async function isGood(
  credential: Credential,
  selector: string | undefined,
  env: AccessSettings & SecretHashes,
  nowMs: number,
  { operatorWith, sessionWith }: CredentialKeepers,
): Promise<boolean> {
  if ("untilMs" in credential)
    return Boolean(env.ACCESS_TEAM && env.ACCESS_AUD) && nowMs < credential.untilMs;
  const isSame = (found: { selector?: string } | null) => found !== null && found.selector === selector;
  if ("session" in credential) return isSame(await sessionWith(credential.session));
  const { sha256 } = credential;
  if (configuredRole(sha256, env) !== null) return selector === undefined;
  const found = await operatorWith(sha256);
  return isSame(found) && found?.role !== "metrics";
}

/** Returns the role of the configured secret with this SHA-256 (base64url); null if no configured secret has it. */
export function configuredRole(sha256: string, env: SecretHashes): "admin" | "view" | null {
  const isAmong = (configured: string | undefined) =>
    hashesOf(configured).some((hash) => base64url.encode(hash) === sha256);
  if (isAmong(env.ADMIN_SECRET_SHA256)) return "admin";
  return isAmong(env.VIEW_SECRET_SHA256) ? "view" : null;
}
