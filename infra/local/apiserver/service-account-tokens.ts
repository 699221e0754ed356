// Tokens of service accounts: JWTs with the claims of kube-apiserver's, signed with an EC key. Signs and verifies;
// whether an account still exists is for others to ask.
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type { JsonObject } from "../../../shared/kubernetes/json.ts";
import { fieldsOf, listOf, textOf } from "./object.ts";

/** --service-account-issuer, and the audience of whoever names none. */
export const issuer = "https://kubernetes.default.svc";

/** What a token is bound to besides its account, and does not outlive. */
export interface BoundObject {
  kind: "secret" | "node";
  name: string;
  uid: string;
}

/** Of a token: the account, and who may accept it. */
export interface TokenClaims {
  namespace: string;
  serviceAccount: string;
  uid: string;
  audiences: string[];
  issuedAtMs: number;
  expiresAtMs: number;
  /** JTI: a token's own name. */
  id: string;
  bound?: BoundObject;
}

/** A public key as RFC 7517 has it. */
export interface PublicKey {
  use: "sig";
  alg: "ES256";
  kid: string;
  kty?: string;
  crv?: string;
  x?: string;
  y?: string;
}

export interface TokenSigner {
  publicKey: PublicKey;
  sign: (claims: TokenClaims) => string;
  /** The claims of a token that this key signed and that has not expired. */
  verify: (token: string, now: Date) => { claims: TokenClaims } | { error: string };
}

/** Clocks differ (go-jose's jwt.DefaultLeeway). */
export const leewayMs = 60_000;

/** Compact ECDSA signatures, as JWTs have them. */
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

function payloadOf(claims: TokenClaims) {
  const { namespace, serviceAccount, uid, audiences, issuedAtMs, expiresAtMs, id, bound } = claims;
  const seconds = (ms: number) => Math.floor(ms / 1_000);
  return {
    aud: audiences,
    exp: seconds(expiresAtMs),
    iat: seconds(issuedAtMs),
    iss: issuer,
    jti: id,
    "kubernetes.io": {
      namespace,
      serviceaccount: { name: serviceAccount, uid },
      ...(bound && { [bound.kind]: { name: bound.name, uid: bound.uid } }),
    },
    nbf: seconds(issuedAtMs),
    sub: `system:serviceaccount:${namespace}:${serviceAccount}`,
  };
}

function boundOf(own: JsonObject): BoundObject | undefined {
  const kind = (["secret", "node"] as const).find((each) => own[each] !== undefined);
  if (!kind) return undefined;
  const { name, uid } = fieldsOf(own[kind]);
  return { kind, name: textOf(name), uid: textOf(uid) };
}

function claimsOf(payload: JsonObject): TokenClaims {
  const own = fieldsOf(payload["kubernetes.io"]);
  const account = fieldsOf(own["serviceaccount"]);
  const bound = boundOf(own);
  return {
    namespace: textOf(own["namespace"]),
    serviceAccount: textOf(account["name"]),
    uid: textOf(account["uid"]),
    audiences: listOf(payload["aud"]).map(textOf),
    issuedAtMs: Number(payload["iat"]) * 1_000,
    expiresAtMs: Number(payload["exp"]) * 1_000,
    id: textOf(payload["jti"]),
    ...(bound && { bound }),
  };
}

export function hasExpired({ expiresAtMs }: TokenClaims, now: Date): boolean {
  return now.getTime() - leewayMs > expiresAtMs;
}

/** `key` is a private key on P-256. */
export function createTokenSigner(key: KeyObject): TokenSigner {
  const publicKey = createPublicKey(key);
  const keyId = createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url");
  const header = encode({ alg: "ES256", kid: keyId });
  return {
    publicKey: { use: "sig", alg: "ES256", kid: keyId, ...publicKey.export({ format: "jwk" }) },
    sign: (claims) => {
      const signed = `${header}.${encode(payloadOf(claims))}`;
      const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding });
      return `${signed}.${signature.toString("base64url")}`;
    },
    verify: (token, now) => {
      const [tokenHeader = "", payload = "", signature = "", ...rest] = token.split(".");
      const isOurs = tokenHeader === header && rest.length === 0;
      const bytes = Buffer.from(signature, "base64url");
      const data = Buffer.from(`${tokenHeader}.${payload}`);
      if (!isOurs || !verify("sha256", data, { key: publicKey, dsaEncoding }, bytes))
        return { error: "go-jose/go-jose: error in cryptographic primitive" };
      const claims = claimsOf(decode(payload));
      if (hasExpired(claims, now)) return { error: "service account token has expired" };
      return { claims };
    },
  };
}
