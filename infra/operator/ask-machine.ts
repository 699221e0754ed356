// Asks a machine over the Worker, with a proof where the machine wants one, and prints the answer while it comes.
import { parseJson } from "../../node-shim/base/state-file.ts";
import { type AskBody, answerLineSchema } from "../../shared/protocol/asking.ts";
import { visible } from "../../shared/protocol/printable.ts";
import { type AnswerEnd, answerEndText } from "../../shared/protocol/questions.ts";
import { connect, formatOf } from "./answer.ts";
import { nodePath, noMachine, type WorkerConnection } from "./client.ts";
import { fault as faultFor, type OperatorFault } from "./fault.ts";
import { askLines } from "./line-stream.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { proofBy, readQuestionKey } from "./question-key.ts";

const UNREADABLE =
  "this command line does not understand a line of the answer: install the Worker's version of it";

/**
 * Asks a machine. If the machine asks for a proof, asks again with a proof by the key in the file.
 */
export async function askMachine(
  program: OperatorProgram,
  name: string,
  keyPath: string | undefined,
  body: AskBody,
  listener: Listener = {},
): Promise<AskFault> {
  const connection = connect(program);
  if (!connection.ok) return connection.error;
  const key = keyPath === undefined ? null : await readQuestionKey(keyPath);
  if (key?.ok === false) return faultFor("failed", key.error).error;
  if (!key) return askOnce(program, connection.value, name, body, listener);
  let challenge: string | undefined;
  const prove = (asked: string) => void (challenge = asked);
  const fault = await askOnce(program, connection.value, name, body, { ...listener, prove });
  if (challenge === undefined) return fault;
  const proof = await proofBy(key.value, { machine: name, challenge, question: body });
  return askOnce(program, connection.value, name, { ...body, proof }, listener);
}

/** Why there is no whole answer: a fault, or one that is printed already. null if there is one, maybe cut at its size. */
export type AskFault = OperatorFault | "printed" | null;

export interface Listener {
  /** Called with each text of the answer. */
  heard?: ((text: string) => void) | undefined;
  /** Called with the reason why a begun answer is not whole. If present, the answer is only heard, and not printed. */
  broken?: (fault: string) => void;
  /** Called with the challenge of a machine that asks for a proof, which is then not printed as a refusal. */
  prove?: (challenge: string) => void;
}

/** Asks once, and prints the answer. */
async function askOnce(
  program: OperatorProgram,
  connection: WorkerConnection,
  name: string,
  body: AskBody,
  { heard, broken, prove }: Listener,
): Promise<AskFault> {
  const { process } = program.surroundings;
  const isRaw = !broken && formatOf(program) === "json";
  const seen: { end: AnswerEnd | null; fault: string | null } = { end: null, fault: null };
  const take = (text: string) => {
    const line = answerLineSchema.safeParse(parseJson(text));
    const end = line.success && "end" in line.data ? line.data.end : null;
    if (prove && end?.reason === "refused" && end.challenge !== undefined) {
      seen.end = { reason: "complete" };
      return prove(end.challenge);
    }
    if (isRaw) process.stdout.write(`${text}\n`);
    if (!line.success) seen.fault ??= UNREADABLE;
    else if ("end" in line.data) seen.end = line.data.end;
    else {
      if ("text" in line.data) heard?.(line.data.text);
      if (!isRaw && !broken) seen.fault ??= show(program, line.data);
    }
    return undefined;
  };
  const request = {
    method: "POST",
    path: nodePath(name, "/questions"),
    body,
    missing: noMachine(name),
  } as const;
  const asked = await askLines(connection, request, take);
  if (!asked.ok) return asked.error;
  const { end } = seen;
  const fault = seen.fault ?? (end === null ? "the answer broke off" : answerEndText(end));
  if (fault === null) return null;
  if (broken) broken(fault);
  else process.stderr.write(`rollcall: ${name}: ${body.name}: ${visible(fault.replaceAll("\n", " "))}\n`);
  return end?.reason !== "cut" || seen.fault !== null ? "printed" : null;
}

/** Prints a part of an answer. Returns why it cannot be printed; null if it can. */
function show(
  { surroundings: { process, writeBytes } }: OperatorProgram,
  part: { text: string } | { base64: string },
): string | null {
  if ("text" in part) {
    // The shim escapes control characters, but another program may have the machine's key.
    process.stdout.write(part.text.split("\n").map(visible).join("\n"));
    return null;
  }
  if (process.stdout.isTTY || !writeBytes) return "the answer is no text: redirect it to a file";
  writeBytes(Buffer.from(part.base64, "base64"));
  return null;
}
