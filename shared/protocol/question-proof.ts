// Defines how an operator's key proves a question: the line of a public key, the text to sign, the proof. A machine whose
// owner has pinned keys answers only a question with a proof, which neither the Worker nor an admin can make. Pure.
import { failure, type Result, success } from "../result.ts";
import { canonicalJson } from "./digest.ts";
import { PROOF_LIMITS } from "./limits.ts";
import { isPrintable } from "./printable.ts";

/** A public key (Ed25519) of an operator. */
export interface OperatorKey {
  /** The 32 bytes of the key in base64url. */
  key: string;
  /** The text after the key, for people. */
  comment: string;
}

/** The first word of a key's line. Another algorithm would have another one. */
const KEY_TYPE = "rollcall-ed25519";
const KEY = /^[\w-]{43}$/;

/** Returns the line of a public key, for the file of --questions-from. */
export const operatorKeyLine = ({ key, comment }: OperatorKey): string =>
  [KEY_TYPE, key, comment].filter((word) => word !== "").join(" ");

/** Parses a file of public keys, one a line. Empty lines and lines with a `#` at their beginning have no key. */
export function parseOperatorKeys(text: string): Result<OperatorKey[]> {
  const keys: OperatorKey[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const [type = "", key = "", ...comment] = line.trim().split(/\s+/);
    if (type === "" || type.startsWith("#")) continue;
    const where = `line ${index + 1}`;
    if (type !== KEY_TYPE || !KEY.test(key) || !isPrintable(line.trim()))
      return failure(
        `${where} is no key: expected ${KEY_TYPE} and the key, as rollcall operators key prints it`,
      );
    keys.push({ key, comment: comment.join(" ") });
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

/** Parses a proof; null if the text has another form. */
export function parseQuestionProof(text: string): QuestionProof | null {
  const [, key = "", challenge = "", signature = "", sealTo] =
    /^([\w-]{43})\.([\w-]{22})\.([\w-]{86})(?:\.([\w-]{43}))?$/.exec(text) ?? [];
  return key === "" ? null : { key, challenge, signature, ...(sealTo !== undefined && { sealTo }) };
}
