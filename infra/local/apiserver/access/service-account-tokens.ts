// Makes and verifies tokens of service accounts: JWTs with kube-apiserver's claims, signed with an EC key and valid
// only for this server. authentication.ts checks that the account still exists.
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

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

/** The payload of a token. */
export type TokenPayload = ReturnType<typeof payloadOf>;

export interface TokenSigner {
  sign: (claims: TokenClaims) => string;
  /** Returns a token's payload, or undefined if another key signed it, it is for another server, or has expired. */
  verify: (token: string, now: Date) => TokenPayload | undefined;
}

/** The tolerance for differing clocks, in milliseconds (go-jose's jwt.DefaultLeeway). */
export const leewayMs = 60_000;

/** The format of ECDSA signatures in JWTs: r and s without DER. */
const dsaEncoding = "ieee-p1363";

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
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

export function hasExpired({ exp }: TokenPayload, now: Date): boolean {
  return now.getTime() - leewayMs > exp * 1_000;
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
      // The signature proves that `payloadOf` has made the payload.
      const found = JSON.parse(Buffer.from(payload, "base64url").toString()) as TokenPayload;
      return found.aud.includes(issuer) && !hasExpired(found, now) ? found : undefined;
    },
  };
}
