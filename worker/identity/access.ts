// Verifies Cloudflare Access's assertion about who sent a request: a JWT by one of the team's keys, for this
// application. Decides about no role.
import {
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  jwtVerify,
  type JWTVerifyGetKey,
} from "jose";
import { failure, type Result, success } from "../../shared/result.ts";
import type { Environment } from "../env.ts";

type AccessSettings = Pick<Environment, "ACCESS_TEAM" | "ACCESS_AUD">;

/** The person's mail address, or the service token's client ID. The error is for the Worker's log alone. */
export async function accessIdentity(
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
