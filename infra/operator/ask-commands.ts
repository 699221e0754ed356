// Runs rollcall ask, rollcall diagnose and rollcall logs: asks a machine a question about itself, and prints the answer while it comes.
import type { Command } from "commander";
import { parseJson } from "../../node-shim/base/state-file.ts";
import { visible } from "../../shared/protocol/printable.ts";
import {
  type AnswerEnd,
  answerEndText,
  QUESTION_NAMES,
  type QuestionRow,
  QUESTIONS,
} from "../../shared/protocol/questions.ts";
import { answerLineSchema, type AskBody } from "../../shared/protocol/asking.ts";
import { connect, fail, formatOf } from "./answer.ts";
import { nodePath, noMachine, type WorkerConnection } from "./client.ts";
import { EXIT_CODES, fault as faultFor } from "./fault.ts";
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
The same as rollcall ask NAME logs …, which docs/questions.md describes.

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

const DIAGNOSE_HELP = `
The same as rollcall ask NAME diagnosis. Each fault has the question whose answer shows more; ask it by rollcall ask NAME.

Example:
  rollcall diagnose edge-7`;

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
      askMachine(program, name, key, {
        name: question,
        parameters: Object.fromEntries(parameters.map((text) => pairOf(text, command))),
      }),
    );
  program
    .command("diagnose <name>")
    .description(
      "Ask a machine what is wrong: disks, units, runtime, load, the way to the Worker, the kernel's log.",
    )
    .option(...KEY_OPTION)
    .addHelpText("after", DIAGNOSE_HELP)
    .action((name: string, { key }: KeyFlag) =>
      askMachine(program, name, key, { name: "diagnosis", parameters: {} }),
    );
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
      askMachine(program, name, key, {
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

/** Asks a machine. If the machine asks for a proof, asks again with a proof by the key in the file. */
async function askMachine(
  program: OperatorProgram,
  name: string,
  keyPath: string | undefined,
  body: AskBody,
): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const key = keyPath === undefined ? null : await readQuestionKey(keyPath);
  if (key?.ok === false) return fail(program, faultFor("failed", key.error).error);
  if (!key) return askOnce(program, connection.value, name, body);
  let challenge: string | undefined;
  await askOnce(program, connection.value, name, body, (asked) => (challenge = asked));
  if (challenge === undefined) return undefined;
  const proof = await proofBy(key.value, { machine: name, challenge, question: body });
  return askOnce(program, connection.value, name, { ...body, proof });
}

/** Asks once, and prints the answer. `prove`: called instead with the challenge of a machine that asks for a proof. */
async function askOnce(
  program: OperatorProgram,
  connection: WorkerConnection,
  name: string,
  body: AskBody,
  prove?: (challenge: string) => void,
): Promise<void> {
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
    else if (!isRaw) seen.fault ??= show(program, line.data);
    return undefined;
  };
  const request = {
    method: "POST",
    path: nodePath(name, "/questions"),
    body,
    missing: noMachine(name),
  } as const;
  const asked = await askLines(connection, request, take);
  if (!asked.ok) return fail(program, asked.error);
  const { end } = seen;
  const fault = seen.fault ?? (end === null ? "the answer broke off" : answerEndText(end));
  if (fault === null) return undefined;
  process.stderr.write(`rollcall: ${name}: ${body.name}: ${visible(fault.replaceAll("\n", " "))}\n`);
  if (end?.reason !== "cut" || seen.fault !== null) process.exitCode = EXIT_CODES.failed;
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
