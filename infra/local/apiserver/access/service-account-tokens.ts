// Makes and verifies tokens of service accounts: JWTs with kube-apiserver's claims, signed with an EC key and valid
// only for this server. authentication.ts checks that the account still exists.
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { fieldsOf, listOf, textOf } from "../object.ts";

/** The issuer of tokens (--service-account-issuer), and the only audience. */
export const issuer = "https://kubernetes.default.svc";

export interface TokenClaims {
  namespace: string;
  serviceAccount: string;
  /** The uid of the service account. */
  uid: string;
  /** The Secret that the token is bound to. The token is valid only while this Secret exists. */
  secret?: { name: string; uid: string };
  issuedAtMs: number;
  expiresAtMs: number;
  /** The ID of the token, in the claim jti. */
  id: string;
}

export interface TokenSigner {
  sign: (claims: TokenClaims) => string;
  /** Returns a token's claims, or undefined if another key signed it, it is for another server, or has expired. */
  verify: (token: string, now: Date) => TokenClaims | undefined;
}

/** The tolerance for differing clocks, in milliseconds (go-jose's jwt.DefaultLeeway). */
export const leewayMs = 60_000;

/** The format of ECDSA signatures in JWTs: r and s without DER. */
const dsaEncoding = "ieee-p1363";

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

function decode(part: string): JsonObject {
  try {
    return fieldsOf(JSON.parse(Buffer.from(part, "base64url").toString("utf8")));
  } catch {
    return {};
  }
}

function payloadOf({ namespace, serviceAccount, uid, secret, issuedAtMs, expiresAtMs, id }: TokenClaims) {
  const seconds = (ms: number) => Math.floor(ms / 1_000);
  return {
    aud: [issuer],
    exp: seconds(expiresAtMs),
    iat: seconds(issuedAtMs),
    iss: issuer,
    jti: id,
    "kubernetes.io": { namespace, ...(secret && { secret }), serviceaccount: { name: serviceAccount, uid } },
    nbf: seconds(issuedAtMs),
    sub: `system:serviceaccount:${namespace}:${serviceAccount}`,
  };
}

function claimsOf(payload: JsonObject): TokenClaims {
  const own = fieldsOf(payload["kubernetes.io"]);
  const account = fieldsOf(own["serviceaccount"]);
  const secret = fieldsOf(own["secret"]);
  return {
    namespace: textOf(own["namespace"]),
    serviceAccount: textOf(account["name"]),
    uid: textOf(account["uid"]),
    ...(own["secret"] !== undefined && {
      secret: { name: textOf(secret["name"]), uid: textOf(secret["uid"]) },
    }),
    issuedAtMs: Number(payload["iat"]) * 1_000,
    expiresAtMs: Number(payload["exp"]) * 1_000,
    id: textOf(payload["jti"]),
  };
}

export function hasExpired({ expiresAtMs }: TokenClaims, now: Date): boolean {
  return now.getTime() - leewayMs > expiresAtMs;
}

/** Returns a signer of tokens. `key` is a private key on P-256. */
export function createTokenSigner(key: KeyObject): TokenSigner {
  const publicKey = createPublicKey(key);
  const der = publicKey.export({ type: "spki", format: "der" });
  const header = encode({ alg: "ES256", kid: createHash("sha256").update(der).digest("base64url") });
  return {
    sign: (claims) => {
      const signed = `${header}.${encode(payloadOf(claims))}`;
      const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding });
      return `${signed}.${signature.toString("base64url")}`;
    },
    verify: (token, now) => {
      const [tokenHeader = "", payload = "", signature = "", ...rest] = token.split(".");
      if (tokenHeader !== header || rest.length > 0) return undefined;
      const data = Buffer.from(`${tokenHeader}.${payload}`);
      const bytes = Buffer.from(signature, "base64url");
      if (!verify("sha256", data, { key: publicKey, dsaEncoding }, bytes)) return undefined;
      const claims = decode(payload);
      const found = claimsOf(claims);
      return listOf(claims["aud"]).includes(issuer) && !hasExpired(found, now) ? found : undefined;
    },
  };
}
