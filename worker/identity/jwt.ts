// Verifies the JWTs of docs/protocol.md: one algorithm, a `typ` per action, a configured origin as audience.
import {
  base64url,
  type CryptoKey,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  importJWK,
  type JWK,
  jwtVerify,
  type JWTPayload,
} from "jose";
import {
  type ConnectClaims,
  type EnrolmentClaims,
  JWT_TYPES,
  type NextKeyClaims,
  type ReportClaims,
} from "../../shared/protocol/claims.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { printable } from "../../shared/protocol/printable.ts";
import { failure, type Result, success } from "../../shared/result.ts";

/** Imports an Ed25519 public key. `x`: of the key's JWK, 32 bytes in base64url. */
export async function importPublicKey(x: string): Promise<CryptoKey> {
  return await importJWK({ kty: "OKP", crv: "Ed25519", x }, "EdDSA");
}

/** Returns the RFC 7638 thumbprint of a public key: the hash of the JWK's required members, sorted by name. */
export function thumbprintOf(x: string): Promise<string> {
  return sha256Base64url(new TextEncoder().encode(JSON.stringify({ crv: "Ed25519", kty: "OKP", x })));
}

export async function sha256Base64url(bytes: Uint8Array): Promise<string> {
  return base64url.encode(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** Returns the SHA-256 of a text in base64url. */
export const digestOf = (text: string) => sha256Base64url(new TextEncoder().encode(text));

/** Returns the unverified `kid` in a JWT's header; undefined if the text is no JWT or has no kid. */
export const claimedKid = (jwt: string) => claimedText(jwt, "kid");

/** Returns the unverified stamp of the join token in a binding's header; undefined if there is none. */
export const claimedStamp = (binding: string) => claimedText(binding, "stamp");

function claimedText(jwt: string, name: "kid" | "stamp"): string | undefined {
  try {
    const header: Partial<Record<string, unknown>> = decodeProtectedHeader(jwt);
    const text = header[name];
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

/** The error of a JWT with a valid signature whose audience is another origin. */
export const FOR_ANOTHER_ORIGIN = "signed for another origin";

async function verified(
  jwt: string,
  key: CryptoKey,
  typ: string,
  audience: string[],
): Promise<Result<JWTPayload>> {
  try {
    return success((await jwtVerify(jwt, key, { algorithms: ["EdDSA"], typ, audience })).payload);
  } catch (error) {
    return failure(isOtherAudience(error) ? FOR_ANOTHER_ORIGIN : String(error));
  }
}

/** Reports whether a JWT fails only because of its audience: jose checks claims last, after the signature and type. */
function isOtherAudience(error: unknown): boolean {
  return (
    error instanceof errors.JWTClaimValidationFailed &&
    error.claim === "aud" &&
    typeof error.payload.aud === "string"
  );
}

/** The kinds of requests that an enrolled machine signs. */
export type MachineAction = "report" | "leave" | "rotate" | "upgrade" | "answer";

/** Returns the claims of a request if this key signed it for this action, name and body. */
export async function verifyRequest(
  jwt: string,
  key: CryptoKey,
  expected: { action: MachineAction; name: string; bodyDigest: string; origins: string[] },
): Promise<Result<ReportClaims>> {
  const payload = await verified(jwt, key, JWT_TYPES[expected.action], expected.origins);
  if (!payload.ok) return payload;
  const claims = payload.value as Partial<ReportClaims>;
  if (claims.sub !== expected.name || claims.body !== expected.bodyDigest)
    return failure("signed for another machine or body");
  // jose also accepts a list of audiences, if one of them is a configured origin.
  if (typeof claims.aud !== "string") return failure("signed for several origins");
  if (typeof claims.ticket !== "string" || !Number.isSafeInteger(claims.n) || (claims.n as number) < 1)
    return failure("signed without a ticket or a count");
  return success(claims as ReportClaims);
}

/** Verifies a request for a socket with the header's public key. `thumbprint` is from a kid that this Worker issued. */
export async function verifyConnect(
  jwt: string,
  request: { thumbprint: string; name: string; path: string; origins: string[] },
): Promise<Result<ConnectClaims>> {
  const signed = await selfSigned<ConnectClaims>(jwt, JWT_TYPES.connect, request.origins, request.thumbprint);
  if (!signed.ok) return signed;
  const { claims } = signed.value;
  if (claims.sub !== request.name || claims.method !== "GET" || claims.path !== request.path)
    return OTHER_CLAIMS;
  // jose also accepts a list of audiences, if one of them is a configured origin.
  if (typeof claims.aud !== "string") return failure("signed for several origins");
  return isKeyOf32Bytes(claims.session) ? success(claims as ConnectClaims) : failure("no X25519 key");
}

/** A machine that has proven possession of its key. `verifyBinding` checks its join token. */
export interface ProvenMachine {
  /** The `x` of the machine's public JWK. */
  key: string;
  thumbprint: string;
  machineID: string;
  systemUUID: string;
}

interface KeyRequest {
  name: string;
  method: string;
  path: string;
  origins: string[];
}

export interface EnrolmentRequest extends KeyRequest {
  /** The text that the machine's key and the join token must both sign. */
  challenge: string;
}

function matches(
  claims: Partial<EnrolmentClaims | NextKeyClaims>,
  request: KeyRequest,
  thumbprint: string,
): boolean {
  return (
    claims.sub === request.name &&
    claims.method === request.method &&
    claims.path === request.path &&
    claims.jkt === thumbprint
  );
}

const OTHER_CLAIMS = failure("signed for another request or key");

/** The claims of a proof, not verified. */
interface ClaimedEnrolment {
  thumbprint: string;
  /** The challenge that the machine signed; "" if the shim requests one; undefined from a shim without challenges. */
  challenge: string | undefined;
  /** The audience of the proof; undefined if the audience is no text. */
  origin: string | undefined;
}

/** Returns the unverified claims of a proof; null if the proof has no usable key. */
export async function claimedEnrolment(proof: string): Promise<ClaimedEnrolment | null> {
  const claimed = await claimedKey(proof);
  if (!claimed) return null;
  const textOr = <T>(claim: unknown, otherwise: T) => (typeof claim === "string" ? claim : otherwise);
  try {
    const { challenge, aud } = decodeJwt<Partial<EnrolmentClaims>>(proof);
    return {
      thumbprint: claimed.thumbprint,
      challenge: textOr(challenge, challenge === undefined ? undefined : ""),
      origin: textOr(aud, undefined),
    };
  } catch {
    return null;
  }
}

/** Verifies that the machine has its key: the JWT contains the public key, and the private key signed the JWT. */
export async function verifyProof(jwt: string, request: EnrolmentRequest): Promise<Result<ProvenMachine>> {
  const signed = await selfSigned<EnrolmentClaims>(jwt, JWT_TYPES.enrol, request.origins);
  if (!signed.ok) return signed;
  const { key, thumbprint, claims } = signed.value;
  if (!matches(claims, request, thumbprint) || claims.challenge !== request.challenge) return OTHER_CLAIMS;
  const { machineID, systemUUID } = claims;
  if (typeof machineID !== "string" || typeof systemUUID !== "string")
    return failure("signed without the machine's IDs");
  return success({ key, thumbprint, machineID: shownID(machineID), systemUUID: shownID(systemUUID) });
}

/** Shortens an ID that a machine claims, for operators who approve the machine. No decision depends on the ID. */
function shownID(id: string): string {
  return printable(id.slice(0, LIMITS.idLength).toWellFormed());
}

/** Verifies that this machine has the key that replaces `previous`. */
export async function verifyNextKey(
  jwt: string,
  request: KeyRequest & { previous: string },
): Promise<Result<{ key: string; thumbprint: string }>> {
  const signed = await selfSigned<NextKeyClaims>(jwt, JWT_TYPES.nextKey, request.origins);
  if (!signed.ok) return signed;
  const { key, thumbprint, claims } = signed.value;
  if (!matches(claims, request, thumbprint)) return OTHER_CLAIMS;
  return claims.previous === request.previous && thumbprint !== request.previous
    ? success({ key, thumbprint })
    : failure("follows another key, or itself");
}

/** Reports whether the join token signed this key, name and challenge. */
export async function verifyBinding(
  jwt: string,
  tokenKey: string,
  request: EnrolmentRequest,
  thumbprint: string,
): Promise<boolean> {
  const payload = await verified(jwt, await importPublicKey(tokenKey), JWT_TYPES.join, request.origins);
  if (!payload.ok) return false;
  const claims = payload.value as Partial<EnrolmentClaims>;
  return matches(claims, request, thumbprint) && claims.challenge === request.challenge;
}

/** Verifies a JWT with the key in its header. `only`: the thumbprint of the only accepted key. */
async function selfSigned<Claims>(
  jwt: string,
  typ: string,
  origins: string[],
  only?: string,
): Promise<Result<{ key: string; thumbprint: string; claims: Partial<Claims> }>> {
  const claimed = await claimedKey(jwt);
  const imported = claimed && (await importPublicKey(claimed.key).catch(() => null));
  if (!claimed || !imported) return failure("no Ed25519 key in its header");
  if (only !== undefined && claimed.thumbprint !== only) return failure("signed by another key");
  const payload = await verified(jwt, imported, typ, origins);
  return payload.ok ? success({ ...claimed, claims: payload.value as Partial<Claims> }) : payload;
}

/** Returns the unverified key in the header; undefined if the header has no key. */
async function claimedKey(jwt: string): Promise<{ key: string; thumbprint: string } | undefined> {
  try {
    const jwk: JWK | undefined = decodeProtectedHeader(jwt).jwk;
    if (jwk?.kty !== "OKP" || jwk.crv !== "Ed25519" || typeof jwk.x !== "string") return undefined;
    const { x: key } = jwk;
    return isKeyOf32Bytes(key) ? { key, thumbprint: await thumbprintOf(key) } : undefined;
  } catch {
    return undefined;
  }
}

/** Reports whether the text is 32 bytes in canonical base64url, so that each key has one thumbprint. */
function isKeyOf32Bytes(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    const bytes = base64url.decode(text);
    return bytes.length === 32 && base64url.encode(bytes) === text;
  } catch {
    return false;
  }
}
