// Checks that a pinned passkey has signed a question in a browser: an assertion of WebAuthn, with ES256.
import { createHash, createPublicKey, verify } from "node:crypto";
import type { OperatorKey, PasskeyProof } from "../../shared/protocol/question-proof.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { parseJson } from "../base/state-file.ts";

/** The bits of the flags: the user was present, and the authenticator has checked the user. */
const [PRESENT, VERIFIED] = [0x01, 0x04];
const RP_ID_BYTES = 32;
/** The bytes of the relying party's hash, the flags and the counter. */
const LEAST_BYTES = RP_ID_BYTES + 1 + 4;

const bytesOf = (text: string) => Buffer.from(text, "base64url");
const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest();

/** Returns the pinned passkey that has signed `text` on the page of its origin. */
export function passkeyOf(
  { authenticatorData, clientData, signature }: PasskeyProof,
  text: string, // proofText
  keys: readonly OperatorKey[],
): Result<OperatorKey> {
  const client = (parseJson(bytesOf(clientData).toString()) ?? {}) as Record<string, unknown>;
  if (client["type"] !== "webauthn.get" || client["challenge"] !== sha256(text).toString("base64url"))
    return failure("the passkey has not signed this question of this machine");
  const ofOrigin = keys.filter(({ origin }) => origin !== undefined && origin === client["origin"]);
  if (ofOrigin.length === 0 || client["crossOrigin"] === true)
    return failure("the owner of this machine has pinned no passkey of this page");
  const data = bytesOf(authenticatorData);
  const { hostname } = new URL(String(client["origin"]));
  if (data.length < LEAST_BYTES || !data.subarray(0, RP_ID_BYTES).equals(sha256(hostname)))
    return failure("the passkey is of another host than its page");
  const flags = data[RP_ID_BYTES] ?? 0;
  if ((flags & PRESENT) === 0 || (flags & VERIFIED) === 0)
    return failure("the passkey has not checked its user: a PIN, a finger or a face is necessary");
  const signed = Buffer.concat([data, sha256(bytesOf(clientData))]);
  const pinned = ofOrigin.find(({ key }) => isSignedBy(key, bytesOf(signature), signed));
  return pinned ? success(pinned) : failure("the owner of this machine has not pinned this passkey");
}

/** Reports whether the signature is of this point (65 bytes in base64url). A point that is none has signed nothing. */
function isSignedBy(point: string, signature: Buffer, signed: Buffer): boolean {
  const bytes = bytesOf(point);
  const [x, y] = [bytes.toString("base64url", 1, 33), bytes.toString("base64url", 33)];
  try {
    const key = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
    return verify("sha256", signed, key, signature);
  } catch {
    return false;
  }
}
