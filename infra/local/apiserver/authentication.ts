// Who sends a request: a bearer token → a user. Without one it is the anonymous user; a token of a service account dies
// with its account.
import { createHash, type KeyObject, timingSafeEqual } from "node:crypto";
import { quote } from "../../../shared/go/strings.ts";
import { quotedList } from "./go-quoted.ts";
import {
  type BoundObject,
  createTokenSigner,
  hasExpired,
  issuer,
  type TokenClaims,
  type TokenSigner,
} from "./service-account-tokens.ts";
import type { Surroundings } from "./write.ts";

export interface User {
  name: string;
  /** "" for none. */
  uid: string;
  groups: readonly string[];
  extra?: Readonly<Record<string, readonly string[]>>;
}

/** A user, and for which of the wanted audiences the token is good; or why it is none. */
export type Authenticated = { user: User; audiences: string[] } | { error: string };

export interface Authenticator {
  /** The user of an Authorization header; undefined for a token that is none. */
  userOf: (authorization: string | null) => User | undefined;
  /** What a token proves to one of these audiences; the apiserver itself when there is none. */
  review: (token: string, audiences: string[]) => Authenticated;
  signer: TokenSigner;
}

const admin: User = { name: "admin", uid: "admin", groups: ["system:masters", "system:authenticated"] };
const anonymous: User = { name: "system:anonymous", uid: "", groups: ["system:unauthenticated"] };

function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** bearertoken.Authenticator.AuthenticateRequest: another scheme is no token. */
function bearerToken(authorization: string | null): string | undefined {
  const [scheme = "", token = ""] = (authorization ?? "").trim().split(" ", 2);
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

function userOf({ namespace, serviceAccount, uid, id, bound }: TokenClaims): User {
  return {
    name: `system:serviceaccount:${namespace}:${serviceAccount}`,
    uid,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
    extra: {
      "authentication.kubernetes.io/credential-id": [`JTI=${id}`],
      ...(bound?.kind === "node" && {
        "authentication.kubernetes.io/node-name": [bound.name],
        "authentication.kubernetes.io/node-uid": [bound.uid],
      }),
    },
  };
}

/** Tokens whose signature need not be verified again; all are forgotten when they are too many. */
const maxVerified = 5_000;

export function createAuthenticator(
  { store, now }: Pick<Surroundings, "store" | "now">,
  adminToken: string,
  /** Signs the tokens of service accounts: a private key on P-256. */
  signingKey: KeyObject,
): Authenticator {
  const signer = createTokenSigner(signingKey);
  const adminHash = hashOf(adminToken);
  const verified = new Map<string, { claims: TokenClaims; user: User }>();

  function verifiedToken(token: string) {
    const known = verified.get(token);
    if (known && !hasExpired(known.claims, now())) return known;
    const result = signer.verify(token, now());
    if ("error" in result) return result;
    if (verified.size >= maxVerified) verified.clear();
    const entry = { claims: result.claims, user: userOf(result.claims) };
    verified.set(token, entry);
    return entry;
  }

  function accountFault({ namespace, serviceAccount, uid, bound }: TokenClaims): string | undefined {
    const account = store.get({ resource: "serviceaccounts", namespace, name: serviceAccount });
    if (!account) return `serviceaccounts ${quote(serviceAccount)} not found`;
    const own = account.metadata.uid ?? "";
    if (own !== uid) return `service account UID (${own}) does not match claim (${uid})`;
    return bound && boundFault(bound, namespace);
  }

  function boundFault({ kind, name, uid }: BoundObject, namespace: string): string | undefined {
    const isNode = kind === "node";
    const resource = isNode ? "nodes" : "secrets";
    const found = store.get({ resource, namespace: isNode ? "" : namespace, name });
    if (!found) return "service account token has been invalidated";
    const own = found.metadata.uid ?? "";
    if (own === uid) return undefined;
    return `${kind} UID (${own}) does not match service account ${kind} ref claim (${uid})`;
  }

  function review(token: string, audiences: string[]): Authenticated {
    const wanted = audiences.length > 0 ? audiences : [issuer];
    if (timingSafeEqual(hashOf(token), adminHash)) {
      const isForUs = wanted.includes(issuer);
      return isForUs ? { user: admin, audiences: [issuer] } : { error: "invalid bearer token" };
    }
    if (token.split(".").length !== 3) return { error: "invalid bearer token" };
    const found = verifiedToken(token);
    if ("error" in found) return { error: `[invalid bearer token, ${found.error}]` };
    const { claims, user } = found;
    const common = wanted.filter((audience) => claims.audiences.includes(audience));
    if (common.length === 0) {
      const why = `token audiences ${quotedList(claims.audiences)} is invalid for the target audiences ${quotedList(wanted)}`;
      return { error: `[invalid bearer token, ${why}]` };
    }
    const fault = accountFault(claims);
    return fault === undefined ? { user, audiences: common } : { error: `[invalid bearer token, ${fault}]` };
  }

  return {
    userOf: (authorization) => {
      const token = bearerToken(authorization);
      if (token === undefined) return anonymous;
      const answer = review(token, []);
      return "user" in answer ? answer.user : undefined;
    },
    review,
    signer,
  };
}
