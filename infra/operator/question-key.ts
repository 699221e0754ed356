// Makes and uses an operator's key, which signs questions to machines whose owners have pinned it. Only its public line
// leaves the operator's computer.
import type { JWK } from "jose";
import * as z from "zod/mini";
import { machineKey, type MachineKey, makeMachineKey } from "../../node-shim/identity/identity.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import {
  operatorKeyLine,
  type ProvedQuestion,
  proofText,
  questionProof,
} from "../../shared/protocol/question-proof.ts";
import { plainText } from "../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { readPrivate, writeNewPrivate } from "./contexts/secrets.ts";

/** An operator's key, with the text that follows the key in its public line. */
export interface QuestionKey {
  key: MachineKey;
  comment: string;
}

/** The content of a key's file. */
const keyFile = z.strictObject({
  rollcallOperatorKey: z.record(z.string(), z.unknown()),
  comment: plainText(128),
});

/** Makes a key in a new file that only its owner can read. Returns false, and changes nothing, if the file exists. */
export async function makeQuestionKey(path: string, comment: string): Promise<Result<boolean>> {
  const { jwk } = await makeMachineKey();
  const content = keyFile.safeParse({ rollcallOperatorKey: { ...jwk }, comment });
  if (!content.success) return failure("the comment is not a line of at most 128 characters");
  return writeNewPrivate(path, `${JSON.stringify(content.data)}\n`);
}

/** Reads a key. Fails if others can read its file. */
export async function readQuestionKey(path: string): Promise<Result<QuestionKey>> {
  const text = readPrivate(path, "the key's file");
  if (!text.ok) return text;
  if (text.value === null)
    return failure(`the key's file ${path} is missing: rollcall operators key ${path} makes one`);
  try {
    const { rollcallOperatorKey, comment } = keyFile.parse(JSON.parse(text.value));
    return success({ key: await machineKey(rollcallOperatorKey as JWK), comment });
  } catch (error) {
    return failure(`${path} is no key of rollcall operators key (${faultOf(error)})`);
  }
}

/** Returns the public line of a key, which a machine's owner pins. */
export const publicLine = ({ key, comment }: QuestionKey): string =>
  operatorKeyLine({ key: key.publicJwk.x, comment });

/** Returns the proof that this key asks the question. */
export async function proofBy({ key }: QuestionKey, asked: ProvedQuestion): Promise<string> {
  const text = new TextEncoder().encode(proofText(asked));
  const signature = Buffer.from(await crypto.subtle.sign("Ed25519", key.signing, text)).toString("base64url");
  const { challenge, sealTo } = asked;
  return questionProof({
    key: key.publicJwk.x,
    challenge,
    signature,
    ...(sealTo !== undefined && { sealTo }),
  });
}
