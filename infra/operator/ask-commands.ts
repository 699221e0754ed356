// Runs rollcall ask, rollcall diagnose and rollcall logs: asks a machine about itself, and prints answers while they come.
import { type Command, Option } from "commander";
import { shownText } from "../../shared/protocol/printable.ts";
import { QUESTION_NAMES, type QuestionRow, QUESTIONS } from "../../shared/protocol/questions.ts";
import type { AskBody } from "../../shared/protocol/asking.ts";
import { questionSchema } from "../../shared/protocol/question.ts";
import { fail, formatOf } from "./answer.ts";
import { askMachine, type KeyFlags, type Listener } from "./ask-machine.ts";
import { type AskFlags, askMany, LIMIT_OPTION, SELECTOR_OPTION } from "./ask-many.ts";
import { EXIT_CODES } from "./fault.ts";
import type { OperatorProgram } from "./operator-program.ts";

const LIST = QUESTION_NAMES.map((name) => {
  const { usage, help }: QuestionRow = QUESTIONS[name];
  return `  ${`${name} ${usage}`.trim()}\n      ${help}\n`;
}).join("");

const HELP = `
Questions:
${LIST}
The machine's owner turns questions on, and all are off until then. Each question is in the audit log.

Examples:
  rollcall ask edge-7
  rollcall ask edge-7 disks
  rollcall ask edge-7 processes by=memory top=5
  rollcall ask edge-7 files path=/var/log/nginx/error.log grep=upstream
  rollcall ask -l site=berlin disks

With -l, eight machines are asked at a time, and a table has the first line of each answer; -o json has the answers.
Exit codes: 0 the answer, or with -l each answer, is complete or cut at its size, 1 it is not; others as of every command`;

const LOGS_HELP = `
The same as rollcall ask NAME logs, or with -f NAME follow, which docs/questions.md describes.

Examples:
  rollcall logs edge-7 -u nginx --since 10m
  rollcall logs edge-7 -k --grep oom
  rollcall logs edge-7 -u nginx -f
  rollcall logs -l site=berlin -u nginx --lines 5 -o json`;

export const KEY_OPTION = [
  "--key <file>",
  "your key from rollcall operators key, for a machine that answers only such keys",
] as const;

const SEALED_OPTION = [
  "--sealed",
  "with --key: take only an answer that the machine has encrypted to this command and signed",
] as const;

/** The most questions that a diagnosis asks of its own accord. */
const FOLLOWED = 3;
/** The questions that a diagnosis may name. */
const MAY_FOLLOW = "logs units disks folders processes network runtime hardware boots".split(" ");
/** The most characters of a diagnosis in which questions are found. */
const READ_LENGTH = 64 * 1024;

const DIAGNOSE_HELP = `
Asks the question diagnosis, then at most ${FOLLOWED} of the questions that its answer names: a failed unit → its log, a full
disk → its largest folders. With --key it asks these only if --sealed is given, and the machine's key is known from an earlier
answer: else the Worker could have written them, and your key would sign them. With -l it asks diagnosis alone.
rollcall node NAME shows the state of the Node.

Examples:
  rollcall diagnose edge-7
  rollcall diagnose -l site=berlin

Exit codes: as of rollcall ask for the question diagnosis. What shows more may be off, which is no failure.`;

interface LogsFlags {
  unit?: string;
  kernel?: true;
  since?: string;
  lines?: string;
  grep?: string;
  follow?: true;
}

export function askCommands(program: OperatorProgram): void {
  const ask = program
    .command("ask [name] [question]")
    .argument("[parameters...]", "NAME=VALUE")
    .description(
      "Ask a machine a question about itself, or many machines (-l). The answer comes part by part.",
    );
  manyFlags(ask)
    .addHelpText("after", HELP)
    .action((...given: [name: string | undefined, string | undefined, string[], AskFlags, Command]) => {
      const [name, question, parameters, flags, command] = given;
      const isMany = flags.selector !== undefined;
      // With -l the first word is the question.
      const words = [name, question, ...parameters].filter((word) => word !== undefined);
      const machine = isMany ? undefined : words.shift();
      const [asked = isMany ? undefined : "questions", ...pairs] = words;
      if (asked === undefined || (machine === undefined && !isMany))
        return command.error("error: ask needs a machine, or -l and a question");
      return answer(program, machine, flags, {
        name: asked,
        parameters: Object.fromEntries(pairs.map((text) => pairOf(text, command))),
      });
    });
  const diagnosis = program
    .command("diagnose [name]")
    .description(
      "Ask a machine what is wrong, and what shows more: disks, units, runtime, load, network, the kernel's log.",
    );
  manyFlags(diagnosis)
    .addHelpText("after", DIAGNOSE_HELP)
    .action((name: string | undefined, flags: AskFlags, command: Command) => {
      if (isOne(name, flags, command)) return diagnose(program, name, flags);
      return askMany(program, flags, { name: "diagnosis", parameters: {} });
    });
  logsCommand(program);
}

function logsCommand(program: OperatorProgram): void {
  const logs = program
    .command("logs [name]")
    .description("Print the newest log lines of a machine: of a unit, or of the kernel.")
    .option("-u, --unit <unit>", "the lines of this unit of systemd")
    .option("-k, --kernel", "the lines of the kernel")
    .option("--since <duration>", "not older than this: 10m, 2h")
    .option("--lines <number>", "at most this number of lines (default: 100)")
    .option("--grep <text>", "only lines with this text")
    .addOption(
      new Option("-f, --follow", "print further lines while they come, for 15 minutes").conflicts("selector"),
    );
  manyFlags(logs)
    .addHelpText("after", LOGS_HELP)
    .action((name: string | undefined, flags: LogsFlags & AskFlags, command: Command) => {
      const { kernel, follow, key, sealed, selector, limit, ...given } = flags;
      const parameters = { ...given, ...(kernel && { kernel: "yes" }) };
      const machine = isOne(name, flags, command) ? name : undefined;
      const body = { name: follow ? "follow" : "logs", parameters };
      return answer(program, machine, { key, sealed, selector, limit }, body);
    });
}

const manyFlags = (command: Command) =>
  command
    .option(...SELECTOR_OPTION)
    .option(...LIMIT_OPTION)
    .option(...KEY_OPTION)
    .option(...SEALED_OPTION);

/** Returns true if one machine is asked, by its name, and false if -l selects machines. */
export function isOne(
  name: string | undefined,
  { selector }: Pick<AskFlags, "selector">,
  command: Command,
): name is string {
  if ((name === undefined) === (selector === undefined))
    command.error(`error: ${command.name()} needs the name of a machine, or -l`);
  return name !== undefined;
}

/** Asks one machine, or without a name the machines that -l selects. */
export function answer(
  program: OperatorProgram,
  name: string | undefined,
  flags: AskFlags,
  body: AskBody,
): Promise<void> {
  return name === undefined ? askMany(program, flags, body) : answerOne(program, name, flags, body);
}

function pairOf(text: string, command: Command): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) command.error(`error: "${text}" is not NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Asks a machine, prints its answer, and sets the exit code. */
async function answerOne(
  program: OperatorProgram,
  name: string,
  keys: KeyFlags,
  body: AskBody,
  listener: Listener = {},
): Promise<void> {
  const fault = await askMachine(program, name, keys, body, listener);
  if (fault === "printed") program.surroundings.process.exitCode = EXIT_CODES.failed;
  else if (fault !== null) fail(program, fault);
}

/** Asks what is wrong, then the questions that the answer names. These may be off, which is no failure. */
async function diagnose(program: OperatorProgram, name: string, keys: KeyFlags): Promise<void> {
  const { process } = program.surroundings;
  let diagnosis = "";
  let isGenuine = false;
  const listener = {
    heard: (text: string) => void (diagnosis = (diagnosis + text).slice(0, READ_LENGTH)),
    genuine: () => void (isGenuine = true),
  };
  await answerOne(program, name, keys, { name: "diagnosis", parameters: {} }, listener);
  // Only the machine itself can have written a genuine answer. A Worker's questions must not be signed.
  if (keys.key !== undefined && !isGenuine) return;
  for (const next of questionsIn(diagnosis).slice(0, FOLLOWED)) {
    const parameters = Object.entries(next.parameters).map(([key, value]) => ` ${key}=${value}`);
    if (formatOf(program) !== "json") process.stdout.write(`\n${next.name}${parameters.join("")}:\n`);
    const fault = await askMachine(program, name, keys, next);
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
