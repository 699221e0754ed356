// Decides who an operator is and which role they have: by the secret of a role, or by an assertion of Cloudflare
// Access. There are no default credentials: a credential that is not configured lets nobody in.
import { base64url, type JWTVerifyGetKey } from "jose";
import { failure, type Result, success } from "../../shared/result.ts";
import { type Environment, origins } from "../env.ts";
import { accessIdentity } from "./access.ts";

/** `view` reads, `admin` changes as well. */
export type Role = "view" | "admin";

export interface Operator {
  /** For the audit log. */
  who: string;
  role: Role;
}

/** The header that Access adds to requests that it lets through. */
const ASSERTION = "cf-access-jwt-assertion";

/** For the log alone: the answer does not say why somebody is no operator. */
export type NoOperator =
  /** `another site`: a page of another site sent this from an operator's browser. */
  | { reason: "no credentials" | "another secret" | "another site" }
  | { reason: "assertion refused"; error: string };

/** The operator who sent this. `secret`: its bearer token, or null. */
export async function operatorOf(
  request: Request,
  secret: string | null,
  env: Environment,
  accessKeysOf: (team: string) => JWTVerifyGetKey, // typically the isolate's accessKeys
): Promise<Result<Operator, NoOperator>> {
  if (secret !== null) {
    if (await isSecret(secret, env.ADMIN_SECRET_SHA256))
      return success({ who: "admin secret", role: "admin" });
    if (await isSecret(secret, env.VIEW_SECRET_SHA256 ?? ""))
      return success({ who: "view secret", role: "view" });
    return failure({ reason: "another secret" });
  }
  const assertion = request.headers.get(ASSERTION);
  if (assertion === null) return failure({ reason: "no credentials" });
  // Access recognizes a browser by its cookie, which it also sends for other sites' pages.
  if (isCrossSite(request, origins(env))) return failure({ reason: "another site" });
  const who = await accessIdentity(assertion, env, accessKeysOf);
  if (!who.ok) return failure({ reason: "assertion refused", error: who.error });
  return success({ who: who.value, role: isAdmin(who.value, env.ACCESS_ADMINS) ? "admin" : "view" });
}

/**
 * Is it one of the configured secrets, by their hashes? Several hashes are separated by spaces, for the time in which a
 * secret is replaced. A secret must be random and long (32 bytes): a plain hash does not protect a weak one.
 */
async function isSecret(secret: string, configuredSha256: string): Promise<boolean> {
  const actual = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  return configuredSha256
    .split(/\s+/)
    .map((expected) => base64url.decode(expected))
    .some(
      (expected) =>
        expected.byteLength === actual.byteLength && crypto.subtle.timingSafeEqual(expected, actual),
    );
}

/** Names are compared without regard to case, as mail systems do. */
function isAdmin(who: string, admins: string): boolean {
  return admins.toLowerCase().split(/\s+/).includes(who.toLowerCase());
}

/** Programs that are no browsers send neither header. */
function isCrossSite(request: Request, own: readonly string[]): boolean {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  return origin !== null && !own.includes(origin);
}
