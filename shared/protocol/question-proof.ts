// Defines how an operator's key proves a question: the line of a public key, the text to sign, the proof. A machine whose
// owner has pinned keys answers only a question with a proof, which neither the Worker nor an admin can make. Pure.
import { failure, type Result, success } from "../result.ts";
import { canonicalJson } from "./digest.ts";
import { PROOF_LIMITS } from "./limits.ts";
import { isPrintable } from "./printable.ts";

/** A public key of an operator. */
export interface OperatorKey {
  /** In base64url: the key's 32 bytes (Ed25519), or the 65 bytes of a passkey's point (P-256, uncompressed). */
  key: string;
  /** The origin of the page that may use the passkey: `https://rollcall.example.com`. Absent: the key is no passkey. */
  origin?: string;
  /** The text after the key, for people. */
  comment: string;
}

/** The first words of a key's line. Another algorithm would have another one. */
const KEY_TYPE = "rollcall-ed25519";
const PASSKEY_TYPE = "rollcall-webauthn-es256";
const KEY = /^[\w-]{43}$/;
/** The first byte of an uncompressed point is 4. */
const POINT = /^B[\w-]{86}$/;
/** A browser uses passkeys only on a page that comes over https, or from its own computer. */
const ORIGIN = /^(?:https:\/\/[a-z0-9.-]+|http:\/\/localhost)(?::\d+)?$/;

/** Returns the line of a public key, for the file of --questions-from. */
export const operatorKeyLine = ({ key, origin = "", comment }: OperatorKey): string =>
  [origin === "" ? KEY_TYPE : PASSKEY_TYPE, key, origin, comment].filter((word) => word !== "").join(" ");

/** Parses the words of a key's line; null if the line is no key. */
function operatorKey([type, key = "", ...rest]: readonly string[]): OperatorKey | null {
  const [origin = "", ...comment] = rest;
  if (type === KEY_TYPE && KEY.test(key)) return { key, comment: rest.join(" ") };
  const isPasskey = type === PASSKEY_TYPE && POINT.test(key) && ORIGIN.test(origin);
  return isPasskey ? { key, origin, comment: comment.join(" ") } : null;
}

/** Parses a file of public keys, one a line. Empty lines and lines with a `#` at their beginning have no key. */
export function parseOperatorKeys(text: string): Result<OperatorKey[]> {
  const keys: OperatorKey[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const key = isPrintable(line.trim()) ? operatorKey(line.trim().split(/\s+/)) : null;
    if (key === null)
      return failure(
        `line ${index + 1} is no key: expected a line of rollcall operators key, or of a passkey (${PASSKEY_TYPE})`,
      );
    keys.push(key);
  }
  if (keys.length > PROOF_LIMITS.keys) return failure(`more than ${PROOF_LIMITS.keys} keys`);
  return keys.length === 0 ? failure("no key") : success(keys);
}

/** What a proof is for. */
export interface ProvedQuestion {
  /** The name of the machine that is asked. */
  machine: string;
  /** The challenge of that machine. */
  challenge: string;
  /** The question with its parameters, as the operator has sent them. */
  question: { name: string; parameters: Readonly<Record<string, string>> };
  /** The public key (X25519, 32 bytes in base64url) to which the machine must encrypt the answer. Absent: to none. */
  sealTo?: string;
}

/** Returns the text that the operator's key signs. Its first line is in no other text that a key of rollcall signs. */
export function proofText({ machine, challenge, question, sealTo }: ProvedQuestion): string {
  const { name, parameters } = question;
  return `rollcall-question-1\n${canonicalJson({ machine, challenge, question: { name, parameters }, sealTo })}`;
}

/** Returns the text that a machine's key signs: only this machine, for this question, has made the encapsulated secret. */
export function sealText(proved: string, encapsulated: string): string {
  return `rollcall-sealed-answer-1\n${encapsulated}\n${proved}`;
}

/** A proof by a passkey: what the browser has signed. All in base64url. */
export interface PasskeyProof {
  challenge: string;
  authenticatorData: string;
  /** JSON, whose `challenge` is the SHA-256 of proofText. */
  clientData: string;
  /** The signature (ECDSA, DER) of authenticatorData and the SHA-256 of clientData. */
  signature: string;
}

export const passkeyProof = (proof: PasskeyProof): string =>
  [PASSKEY_TYPE, proof.challenge, proof.authenticatorData, proof.clientData, proof.signature].join(".");

/** A proof by a key of rollcall operators key. */
export interface QuestionProof {
  /** The public key, as in its line. */
  key: string;
  challenge: string;
  /** The signature of proofText, in base64url. */
  signature: string;
  sealTo?: string;
}

export const questionProof = ({ key, challenge, signature, sealTo }: QuestionProof): string =>
  [key, challenge, signature, sealTo].filter((part) => part !== undefined).join(".");

const PASSKEY_PROOF = new RegExp(
  `^${PASSKEY_TYPE}\\.(?<challenge>[\\w-]{22})\\.(?<authenticatorData>[\\w-]+)\\.(?<clientData>[\\w-]+)\\.(?<signature>[\\w-]+)$`,
);

/** Parses a proof; null if the text has another form. */
export function parseQuestionProof(text: string): QuestionProof | PasskeyProof | null {
  const passkey = PASSKEY_PROOF.exec(text)?.groups;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The expression has these groups.
  if (passkey) return { ...passkey } as unknown as PasskeyProof;
  const [, key = "", challenge = "", signature = "", sealTo] =
    /^([\w-]{43})\.([\w-]{22})\.([\w-]{86})(?:\.([\w-]{43}))?$/.exec(text) ?? [];
  return key === "" ? null : { key, challenge, signature, ...(sealTo !== undefined && { sealTo }) };
}
