// Asks a machine over the Worker, with a proof if the machine wants one. Prints the answer while it comes.
import { parseJson } from "../../node-shim/base/state-file.ts";
import { type AnswerLine, answerLine, answerLineSchema, type AskBody } from "../../shared/protocol/asking.ts";
import { visible, visibleText } from "../../shared/protocol/printable.ts";
import { proofText } from "../../shared/protocol/question-proof.ts";
import { type AnswerEnd, answerEndText } from "../../shared/protocol/questions.ts";
import { connect, formatOf } from "./answer.ts";
import { nodePath, noMachine, type WorkerConnection } from "./client.ts";
import { fault as faultFor, type OperatorFault } from "./fault.ts";
import { askLines } from "./line-stream.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { proofBy, type QuestionKey, readQuestionKey } from "./question-key.ts";
import { knownKey, Unsealer } from "./sealed-answers.ts";

const UNREADABLE =
  "this command line does not understand a line of the answer: install the Worker's version of it";

/** How to ask machines that pin keys. */
export interface KeyFlags {
  /** The path of the operator's key. */
  key?: string | undefined;
  /** true if only a sealed answer counts. */
  sealed?: true | undefined;
}

/** Asks a machine. If the machine asks for a proof, asks again with a proof by the key in the file. */
export async function askMachine(
  program: OperatorProgram,
  name: string,
  { key: path, sealed }: KeyFlags,
  body: AskBody,
  listener: Listener = {},
): Promise<AskFault> {
  const connection = connect(program);
  if (!connection.ok) return connection.error;
  if (path === undefined) {
    if (sealed) return faultFor("usage", "--sealed needs --key").error;
    return askOnce(program, connection.value, name, body, listener);
  }
  const key = await readQuestionKey(path);
  if (!key.ok) return faultFor("failed", key.error).error;
  let challenge: string | undefined;
  const prove = (asked: string) => void (challenge = asked);
  const first = { ...listener, prove, ...(sealed && { unsealer: new Unsealer(null) }) };
  const fault = await askOnce(program, connection.value, name, body, first);
  if (challenge === undefined) return fault;
  const asked = { machine: name, challenge, question: body };
  if (sealed) return askSealed(program, connection.value, asked, { path, key: key.value }, listener);
  const proof = await proofBy(key.value, asked);
  return askOnce(program, connection.value, name, { ...body, proof }, listener);
}

/** Asks with a proof for an answer that only this process can open. */
async function askSealed(
  program: OperatorProgram,
  connection: WorkerConnection,
  asked: { machine: string; challenge: string; question: AskBody },
  { path, key }: { path: string; key: QuestionKey },
  listener: Listener,
): Promise<AskFault> {
  const { machine: name, question: body } = asked;
  const { newUnsealing } = await import("../../node-shim/wire/sealed-answer.ts");
  const { sealTo, opener } = await newUnsealing();
  const proved = { ...asked, sealTo };
  const file = `${path}.machines`;
  const unsealer = new Unsealer({
    answer: opener(proofText(proved)),
    isBytes: body.name === "bundle",
    check: (thumbprint) => {
      const known = knownKey(file, { worker: connection.url, name, thumbprint });
      if (known.ok && known.value === "new")
        program.surroundings.process.stderr.write(
          `rollcall: ${name}: ${file} now has this machine's key ${thumbprint}: compare it with node-shim doctor there\n`,
        );
      return known;
    },
  });
  const proof = await proofBy(key, proved);
  const fault = await askOnce(program, connection, name, { ...body, proof }, { ...listener, unsealer });
  if (fault === null && unsealer.key === "known") listener.genuine?.();
  return fault;
}

/** Why there is no whole answer: a fault, or one that is printed already. null if there is one, maybe cut at its size. */
export type AskFault = OperatorFault | "printed" | null;

export interface Listener {
  /** Called with each text of the answer. */
  heard?: ((text: string) => void) | undefined;
  /** Called with the reason why a begun answer is not whole. If present, the answer is only heard, and not printed. */
  broken?: (fault: string) => void;
  /** Called if the answer is whole, and sealed by a machine whose key was known before. */
  genuine?: () => void;
  /** Opens the lines of a sealed answer. */
  unsealer?: Unsealer;
  /** Called with the challenge of a machine that asks for a proof, which is then not printed as a refusal. */
  prove?: (challenge: string) => void;
}

/** Asks once, and prints the answer. */
async function askOnce(
  program: OperatorProgram,
  connection: WorkerConnection,
  name: string,
  body: AskBody,
  { heard, broken, prove, unsealer }: Listener,
): Promise<AskFault> {
  const { process } = program.surroundings;
  const isRaw = !broken && formatOf(program) === "json";
  const seen: { end: AnswerEnd | null; fault: string | null } = { end: null, fault: null };
  const take = (line: AnswerLine, raw = answerLine(line)) => {
    const end = "end" in line ? line.end : null;
    if (prove && end?.reason === "refused" && end.challenge !== undefined) {
      seen.end = { reason: "complete" };
      return prove(end.challenge);
    }
    if (isRaw) process.stdout.write(raw);
    if ("end" in line) seen.end = line.end;
    else {
      if ("text" in line) heard?.(line.text);
      if (!isRaw && !broken) seen.fault ??= show(program, line);
    }
    return undefined;
  };
  let opening: Promise<unknown> = Promise.resolve();
  const read = (text: string) => {
    const line = answerLineSchema.safeParse(parseJson(text));
    if (!line.success) {
      if (isRaw && !unsealer) process.stdout.write(`${text}\n`);
      seen.fault ??= UNREADABLE;
    } else if (unsealer)
      opening = opening.then(async () => {
        for (const opened of await unsealer.take(line.data)) take(opened);
      });
    else take(line.data, `${text}\n`);
  };
  const request = {
    method: "POST",
    path: nodePath(name, "/questions"),
    body,
    missing: noMachine(name),
  } as const;
  const asked = await askLines(connection, request, read);
  await opening;
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
    process.stdout.write(visibleText(part.text));
    return null;
  }
  if (process.stdout.isTTY || !writeBytes) return "the answer is no text: redirect it to a file";
  writeBytes(Buffer.from(part.base64, "base64"));
  return null;
}
