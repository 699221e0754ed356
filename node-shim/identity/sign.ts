// The machine's key and the JWTs that it signs (docs/protocol.md). Knows nothing of files or networks.
import { createHash } from "node:crypto";
import {
  base64url,
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  importPKCS8,
  type JWK,
  SignJWT,
} from "jose";
import {
  type EnrolmentClaims,
  JWT_TYPES,
  type NextKeyClaims,
  type ReportClaims,
} from "../../shared/protocol/report.ts";

export interface MachineKey {
  /** Private JWK (OKP, Ed25519): what is kept on disk. */
  jwk: JWK;
  signing: CryptoKey;
  /** `x` alone, for headers. */
  publicJwk: { kty: "OKP"; crv: "Ed25519"; x: string };
  /** RFC 7638. */
  thumbprint: string;
}

export function sha256Base64url(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** A key from its private JWK; throws where the JWK is not an Ed25519 private key. */
export async function machineKey(jwk: JWK): Promise<MachineKey> {
  const { kty, crv, x, d } = jwk;
  if (kty !== "OKP" || crv !== "Ed25519" || !x || !d) throw new Error("not an Ed25519 private key");
  const publicJwk = { kty: "OKP", crv: "Ed25519", x } as const;
  const signing = await importJWK({ ...publicJwk, d }, "EdDSA");
  return {
    jwk: { ...publicJwk, d },
    signing,
    publicJwk,
    thumbprint: await calculateJwkThumbprint(publicJwk),
  };
}

export async function makeMachineKey(): Promise<MachineKey> {
  const { privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  return machineKey(await exportJWK(privateKey));
}

const JOIN_TOKEN = /^rcj1_([\w-]{43})$/;
/** What PKCS #8 (RFC 8410) puts before the 32 bytes of an Ed25519 seed. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** null where the text has a join token's form. */
export function joinTokenFault(token: string): string | null {
  if (JOIN_TOKEN.test(token.trim())) return null;
  return "this is not a join token: it must read rcj1_ and 43 more characters";
}

/** The key whose seed a join token is; throws with what to do about a text that is none. */
async function joinTokenKey(token: string): Promise<{ signing: CryptoKey; id: string }> {
  const seed = JOIN_TOKEN.exec(token.trim())?.[1];
  if (!seed) throw new Error(joinTokenFault(token) ?? "");
  const der = Buffer.concat([PKCS8_PREFIX, base64url.decode(seed)]).toString("base64");
  const pem = `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----`;
  const signing = await importPKCS8(pem, "EdDSA", { extractable: true });
  const { kty, crv, x } = await exportJWK(signing);
  return { signing, id: await calculateJwkThumbprint({ kty, crv, x } as JWK) };
}

/** The two JWTs of an enrolment: by the machine's key and by the token's, which itself never travels. */
export async function signEnrolment(
  key: MachineKey,
  joinToken: string,
  request: { name: string; origin: string; path: string; machineID: string; systemUUID: string },
): Promise<{ proof: string; binding: string }> {
  const token = await joinTokenKey(joinToken);
  const { name, origin, path, machineID, systemUUID } = request;
  const vouched = { sub: name, aud: origin, method: "PUT", path, jkt: key.thumbprint } as const;
  const claims: EnrolmentClaims = { ...vouched, machineID, systemUUID };
  return {
    proof: await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: "EdDSA", typ: JWT_TYPES.enrol, jwk: key.publicJwk })
      .sign(key.signing),
    binding: await new SignJWT({ ...vouched })
      .setProtectedHeader({ alg: "EdDSA", typ: JWT_TYPES.join, kid: token.id })
      .sign(token.signing),
  };
}

/** By the next key: that it follows `previous` (a thumbprint) on this machine. */
export function signNextKey(
  next: MachineKey,
  { name, origin, path, previous }: { name: string; origin: string; path: string; previous: string },
): Promise<string> {
  const vouched = { sub: name, aud: origin, method: "POST", path, jkt: next.thumbprint } as const;
  const claims: NextKeyClaims = { ...vouched, previous };
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "EdDSA", typ: JWT_TYPES.nextKey, jwk: next.publicJwk })
    .sign(next.signing);
}

/** A report, a leave, or a rotation: their claims are the same. */
export function signReport(
  key: MachineKey,
  kid: string,
  claims: ReportClaims,
  typ: string = JWT_TYPES.report,
): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: "EdDSA", typ, kid }).sign(key.signing);
}
