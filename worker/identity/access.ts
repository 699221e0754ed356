// Verifies what Cloudflare Access says about who sent a request: a JWT by one of the team's keys, for this application.
// Makes nobody an admin.
import {
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  jwtVerify,
  type JWTVerifyGetKey,
} from "jose";
import type { Environment } from "../env.ts";

type AccessSettings = Pick<Environment, "ACCESS_TEAM" | "ACCESS_AUD">;

/** The team's keys as they were fetched for an earlier request: jose keeps them for ten minutes. */
const known = { team: "", keys: undefined as JWTVerifyGetKey | undefined };

/**
 * The person's mail address, or the service token's client ID; null where Access is not configured or vouches for
 * nobody. `fetch` is the global one.
 */
export async function accessIdentity(
  assertion: string,
  { ACCESS_TEAM: team, ACCESS_AUD: audience }: AccessSettings,
  fetch: FetchImplementation,
): Promise<string | null> {
  if (team === "" || audience === "") return null;
  const issuer = `https://${team}.cloudflareaccess.com`;
  try {
    const { payload } = await jwtVerify(assertion, teamKeys(team, issuer, fetch), {
      algorithms: ["RS256"],
      issuer,
      audience,
      requiredClaims: ["exp"],
    });
    const { email, common_name: service } = payload;
    const who = email || service;
    return typeof who === "string" && who !== "" ? who : null;
  } catch (error) {
    // What is wrong with an assertion is for the Worker's operator alone.
    console.log(JSON.stringify({ message: "Access assertion refused", error: String(error) }));
    return null;
  }
}

function teamKeys(team: string, issuer: string, fetch: FetchImplementation): JWTVerifyGetKey {
  if (known.team === team && known.keys) return known.keys;
  const keys = createRemoteJWKSet(new URL(`${issuer}/cdn-cgi/access/certs`), { [customFetch]: fetch });
  Object.assign(known, { team, keys });
  return keys;
}
