// Runs rollcall ask, rollcall diagnose and rollcall logs: asks a machine about itself, and prints answers while they come.
import type { Command } from "commander";
import { parseJson } from "../../node-shim/base/state-file.ts";
import { shownText, visible } from "../../shared/protocol/printable.ts";
import {
  type AnswerEnd,
  answerEndText,
  QUESTION_NAMES,
  type QuestionRow,
  QUESTIONS,
} from "../../shared/protocol/questions.ts";
import { answerLineSchema, type AskBody } from "../../shared/protocol/asking.ts";
import { questionSchema } from "../../shared/protocol/question.ts";
import { connect, fail, formatOf } from "./answer.ts";
import { nodePath, noMachine, type WorkerConnection } from "./client.ts";
import { EXIT_CODES, fault as faultFor, type OperatorFault } from "./fault.ts";
import { askLines } from "./line-stream.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { proofBy, readQuestionKey } from "./question-key.ts";

const LIST = QUESTION_NAMES.map((name) => {
  const { usage, help }: QuestionRow = QUESTIONS[name];
  return `  ${`${name} ${usage}`.trim()}\n      ${help}\n`;
}).join("");

const HELP = `
Questions:
${LIST}
The machine's owner turns questions on, and all are off until then. Each question is in the audit log.

Examples:
  rollcall ask edge-7 disks
  rollcall ask edge-7 processes by=memory top=5
  rollcall ask edge-7 files path=/var/log/nginx/error.log grep=upstream

Exit codes: 0 the answer is complete or cut at its size, 1 it is not; others as of every command`;

const LOGS_HELP = `
The same as rollcall ask NAME logs, which docs/questions.md describes.

Examples:
  rollcall logs edge-7 -u nginx --since 10m
  rollcall logs edge-7 -k --grep oom`;

interface KeyFlag {
  /** The path of the operator's key. */
  key?: string;
}
const KEY_OPTION = [
  "--key <file>",
  "your key from rollcall operators key, for a machine that answers only such keys",
] as const;

/** The most questions that a diagnosis asks of its own accord. */
const FOLLOWED = 3;
/** The questions that a diagnosis may name. */
const MAY_FOLLOW = "logs units disks folders processes network runtime hardware boots".split(" ");
/** The most characters of a diagnosis in which questions are found. */
const READ_LENGTH = 64 * 1024;

const DIAGNOSE_HELP = `
Asks the question diagnosis, then at most ${FOLLOWED} of the questions that its answer names: a failed unit → its log, a full
disk → its largest folders. With --key it asks diagnosis alone: the Worker could have written the other questions, and your key
would sign them. rollcall node NAME shows the state of the Node.

Example:
  rollcall diagnose edge-7

Exit codes: as of rollcall ask for the question diagnosis. What shows more may be off, which is no failure.`;

interface LogsFlags {
  unit?: string;
  kernel?: true;
  since?: string;
  lines?: string;
  grep?: string;
}

export function askCommands(program: OperatorProgram): void {
  program
    .command("ask <name> <question>")
    .argument("[parameters...]", "NAME=VALUE")
    .description("Ask a machine a question about itself. The answer comes over its socket.")
    .option(...KEY_OPTION)
    .addHelpText("after", HELP)
    .action((name: string, question: string, parameters: string[], { key }: KeyFlag, command: Command) =>
      answerOne(program, name, key, {
        name: question,
        parameters: Object.fromEntries(parameters.map((text) => pairOf(text, command))),
      }),
    );
  program
    .command("diagnose <name>")
    .description(
      "Ask a machine what is wrong, and what shows more: disks, units, runtime, load, network, the kernel's log.",
    )
    .option(...KEY_OPTION)
    .addHelpText("after", DIAGNOSE_HELP)
    .action((name: string, { key }: KeyFlag) => diagnose(program, name, key));
  program
    .command("logs <name>")
    .description("Print the newest log lines of a machine: of a unit, or of the kernel.")
    .option("-u, --unit <unit>", "the lines of this unit of systemd")
    .option("-k, --kernel", "the lines of the kernel")
    .option("--since <duration>", "not older than this: 10m, 2h")
    .option("--lines <number>", "at most this number of lines (default: 100)")
    .option("--grep <text>", "only lines with this text")
    .option(...KEY_OPTION)
    .addHelpText("after", LOGS_HELP)
    .action((name: string, { kernel, key, ...given }: LogsFlags & KeyFlag) =>
      answerOne(program, name, key, {
        name: "logs",
        parameters: { ...given, ...(kernel && { kernel: "yes" }) },
      }),
    );
}

function pairOf(text: string, command: Command): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) command.error(`error: "${text}" is not NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

const UNREADABLE =
  "this command line does not understand a line of the answer: install the Worker's version of it";

/** Asks a machine, prints its answer, and sets the exit code. */
async function answerOne(
  program: OperatorProgram,
  name: string,
  keyPath: string | undefined,
  body: AskBody,
  heard?: (text: string) => void,
): Promise<void> {
  const fault = await askMachine(program, name, keyPath, body, heard);
  if (fault === "printed") program.surroundings.process.exitCode = EXIT_CODES.failed;
  else if (fault !== null) fail(program, fault);
}

/** Asks what is wrong, then the questions that the answer names. These may be off, which is no failure. */
async function diagnose(program: OperatorProgram, name: string, keyPath: string | undefined): Promise<void> {
  const { process } = program.surroundings;
  let diagnosis = "";
  const heard = (text: string) => void (diagnosis = (diagnosis + text).slice(0, READ_LENGTH));
  await answerOne(program, name, keyPath, { name: "diagnosis", parameters: {} }, heard);
  // An answer has no signature. A Worker that writes questions into it must not get them signed.
  if (keyPath !== undefined) return;
  for (const next of questionsIn(diagnosis).slice(0, FOLLOWED)) {
    const parameters = Object.entries(next.parameters).map(([key, value]) => ` ${key}=${value}`);
    if (formatOf(program) !== "json") process.stdout.write(`\n${next.name}${parameters.join("")}:\n`);
    const fault = await askMachine(program, name, keyPath, next);
    if (fault !== null && fault !== "printed")
      process.stderr.write(`rollcall: ${shownText(fault.message)}\n`);
  }
}

/** Returns the questions that a diagnosis names, once each: only valid ones of MAY_FOLLOW. */
function questionsIn(diagnosis: string): AskBody[] {
  const named = [...diagnosis.matchAll(/^ *→ ask (\S+(?: [\w-]+=\S+)*)$/gm)].map(([, text = ""]) => text);
  return [...new Set(named)].flatMap((text) => {
    const [name = "", ...pairs] = text.split(" ");
    const parameters = pairs.map((pair) => [
      pair.slice(0, pair.indexOf("=")),
      pair.slice(pair.indexOf("=") + 1),
    ]);
    const body: AskBody = { name, parameters: Object.fromEntries(parameters) as AskBody["parameters"] };
    return MAY_FOLLOW.includes(name) && questionSchema.safeParse(body).success ? [body] : [];
  });
}

/**
 * Asks a machine. If the machine asks for a proof, asks again with a proof by the key in the file. `heard`: called with
 * each text of the answer.
 */
async function askMachine(
  program: OperatorProgram,
  name: string,
  keyPath: string | undefined,
  body: AskBody,
  heard?: (text: string) => void,
): Promise<AskFault> {
  const connection = connect(program);
  if (!connection.ok) return connection.error;
  const key = keyPath === undefined ? null : await readQuestionKey(keyPath);
  if (key?.ok === false) return faultFor("failed", key.error).error;
  if (!key) return askOnce(program, connection.value, name, body, { heard });
  let challenge: string | undefined;
  const prove = (asked: string) => void (challenge = asked);
  const fault = await askOnce(program, connection.value, name, body, { heard, prove });
  if (challenge === undefined) return fault;
  const proof = await proofBy(key.value, { machine: name, challenge, question: body });
  return askOnce(program, connection.value, name, { ...body, proof }, { heard });
}

/** Why there is no whole answer: a fault, or one that is printed already. null if there is one, maybe cut at its size. */
type AskFault = OperatorFault | "printed" | null;

interface Listener {
  /** Called with each text of the answer. */
  heard?: ((text: string) => void) | undefined;
  /** Called with the challenge of a machine that asks for a proof, which is then not printed as a refusal. */
  prove?: (challenge: string) => void;
}

/** Asks once, and prints the answer. */
async function askOnce(
  program: OperatorProgram,
  connection: WorkerConnection,
  name: string,
  body: AskBody,
  { heard, prove }: Listener,
): Promise<AskFault> {
  const { process } = program.surroundings;
  const isRaw = formatOf(program) === "json";
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
      if (!isRaw) seen.fault ??= show(program, line.data);
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
  process.stderr.write(`rollcall: ${name}: ${body.name}: ${visible(fault.replaceAll("\n", " "))}\n`);
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
