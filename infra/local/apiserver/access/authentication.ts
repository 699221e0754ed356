// Finds the user of a bearer token. A service account's token needs its account and the Secret that it is bound to.
import { createHash, timingSafeEqual } from "node:crypto";
import type { Store } from "../store.ts";
import { hasExpired, type TokenPayload, type TokenSigner } from "./service-account-tokens.ts";

export interface User {
  name: string;
  groups: readonly string[];
}

const admin: User = { name: "admin", groups: ["system:masters", "system:authenticated"] };
const anonymous: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };

function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Returns the bearer token of an Authorization header. Mirrors bearertoken.Authenticator.AuthenticateRequest. */
function bearerToken(authorization: string | null): string | undefined {
  const [scheme = "", token = ""] = (authorization ?? "").trim().split(" ", 2);
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

function userOf({ sub: name, "kubernetes.io": { namespace } }: TokenPayload): User {
  return {
    name,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  };
}

/** The number of verified tokens that the cache may have. At this number the cache is emptied. */
const maxVerified = 5_000;

/** Returns a function that finds the user of an Authorization header, or undefined if the token is not valid. */
export function createAuthenticator(
  store: Store,
  now: () => Date,
  adminToken: string,
  signer: TokenSigner,
): (authorization: string | null) => User | undefined {
  const adminHash = hashOf(adminToken);
  const verified = new Map<string, TokenPayload>();

  function verifiedClaims(token: string): TokenPayload | undefined {
    const known = verified.get(token);
    if (known) return hasExpired(known, now()) ? undefined : known;
    const claims = signer.verify(token, now());
    if (!claims) return undefined;
    if (verified.size >= maxVerified) verified.clear();
    verified.set(token, claims);
    return claims;
  }

  function accountUser(token: string): User | undefined {
    const claims = verifiedClaims(token);
    if (!claims) return undefined;
    const { namespace, serviceaccount: account, secret } = claims["kubernetes.io"];
    const isThere = (resource: string, found: { name: string; uid: string }) =>
      store.get({ resource, namespace, name: found.name })?.metadata.uid === found.uid;
    const isGood = isThere("serviceaccounts", account) && (!secret || isThere("secrets", secret));
    return isGood ? userOf(claims) : undefined;
  }

  return (authorization) => {
    const token = bearerToken(authorization);
    if (token === undefined) return anonymous;
    return timingSafeEqual(hashOf(token), adminHash) ? admin : accountUser(token);
  };
}
