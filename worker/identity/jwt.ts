// Verifies the JWTs of docs/protocol.md: alg pinned, typ per action, audience one of the configured origins.
import {
  base64url,
  calculateJwkThumbprint,
  type CryptoKey,
  decodeProtectedHeader,
  importJWK,
  type JWK,
  jwtVerify,
  type JWTPayload,
} from "jose";
import {
  type EnrolmentClaims,
  JWT_TYPES,
  type NextKeyClaims,
  type ReportClaims,
} from "../../shared/protocol/report.ts";

/** An Ed25519 public key: `x` of its JWK, base64url of 32 bytes. */
export async function importPublicKey(x: string): Promise<CryptoKey> {
  return await importJWK({ kty: "OKP", crv: "Ed25519", x }, "EdDSA");
}

export function thumbprintOf(x: string): Promise<string> {
  return calculateJwkThumbprint({ kty: "OKP", crv: "Ed25519", x });
}

export async function sha256Base64url(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return base64url.encode(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The header's `kid`, unverified; null when the text is no JWT or has none. */
export function claimedKid(jwt: string): string | null {
  try {
    const { kid }: { kid?: unknown } = decodeProtectedHeader(jwt);
    return typeof kid === "string" ? kid : null;
  } catch {
    return null;
  }
}

async function verified(
  jwt: string,
  key: CryptoKey,
  typ: string,
  audience: string[],
): Promise<JWTPayload | null> {
  try {
    return (await jwtVerify(jwt, key, { algorithms: ["EdDSA"], typ, audience })).payload;
  } catch {
    return null;
  }
}

/** What an enrolled machine may sign. */
export type MachineAction = "report" | "leave" | "rotate";

/** The claims of a request that this key signed for this name and body; null when anything about it is not so. */
export async function verifyRequest(
  jwt: string,
  key: CryptoKey,
  expected: { action: MachineAction; name: string; bodyDigest: string; origins: string[] },
): Promise<ReportClaims | null> {
  const claims = (await verified(
    jwt,
    key,
    JWT_TYPES[expected.action],
    expected.origins,
  )) as Partial<ReportClaims> | null;
  if (claims?.sub !== expected.name || claims.body !== expected.bodyDigest) return null;
  // jose accepts a list that holds one of them.
  if (typeof claims.aud !== "string") return null;
  if (typeof claims.ticket !== "string" || !Number.isSafeInteger(claims.n) || (claims.n as number) < 1)
    return null;
  return claims as ReportClaims;
}

/** A machine that proved possession of its key, and whose key a join token's key vouched for. */
export interface ProvenMachine {
  /** `x` of the machine's public JWK. */
  key: string;
  thumbprint: string;
  machineID: string;
  systemUUID: string;
}

interface EnrolmentRequest {
  name: string;
  method: string;
  path: string;
  origins: string[];
}

function matches(
  claims: Partial<EnrolmentClaims | NextKeyClaims>,
  request: EnrolmentRequest,
  thumbprint: string,
): boolean {
  return (
    claims.sub === request.name &&
    claims.method === request.method &&
    claims.path === request.path &&
    claims.jkt === thumbprint
  );
}

/** Possession of the machine's key: a JWT that carries the key and is signed by it. */
export async function verifyProof(jwt: string, request: EnrolmentRequest): Promise<ProvenMachine | null> {
  const key = claimedKey(jwt);
  if (!key) return null;
  try {
    const thumbprint = await thumbprintOf(key);
    const claims = (await verified(
      jwt,
      await importPublicKey(key),
      JWT_TYPES.enrol,
      request.origins,
    )) as Partial<EnrolmentClaims> | null;
    if (!claims || !matches(claims, request, thumbprint)) return null;
    const { machineID, systemUUID } = claims;
    if (typeof machineID !== "string" || typeof systemUUID !== "string") return null;
    return { key, thumbprint, machineID: machineID.slice(0, 128), systemUUID: systemUUID.slice(0, 128) };
  } catch {
    return null;
  }
}

/** Possession of the key that follows `previous`, for this very machine; null when anything about it is not so. */
export async function verifyNextKey(
  jwt: string,
  request: EnrolmentRequest & { previous: string },
): Promise<{ key: string; thumbprint: string } | null> {
  const key = claimedKey(jwt);
  if (!key) return null;
  try {
    const thumbprint = await thumbprintOf(key);
    const publicKey = await importPublicKey(key);
    const claims = (await verified(
      jwt,
      publicKey,
      JWT_TYPES.nextKey,
      request.origins,
    )) as Partial<NextKeyClaims> | null;
    if (!claims || !matches(claims, request, thumbprint)) return null;
    return claims.previous === request.previous && thumbprint !== request.previous
      ? { key, thumbprint }
      : null;
  } catch {
    return null;
  }
}

/** The join token's leave for exactly this machine key under this name. */
export async function verifyBinding(
  jwt: string,
  tokenKey: string,
  request: EnrolmentRequest,
  thumbprint: string,
): Promise<boolean> {
  const claims = await verified(jwt, await importPublicKey(tokenKey), JWT_TYPES.join, request.origins);
  return claims !== null && matches(claims as Partial<EnrolmentClaims>, request, thumbprint);
}

function claimedKey(jwt: string): string | null {
  try {
    const jwk: JWK | undefined = decodeProtectedHeader(jwt).jwk;
    if (jwk?.kty !== "OKP" || jwk.crv !== "Ed25519" || typeof jwk.x !== "string") return null;
    // One key has one spelling, and so one thumbprint.
    const bytes = base64url.decode(jwk.x);
    return bytes.length === 32 && base64url.encode(bytes) === jwk.x ? jwk.x : null;
  } catch {
    return null;
  }
}
