// Defines `ask`, which answers a question about this machine at its console, within the bounds of every answer.
import { once } from "node:events";
import type { Command } from "commander";
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import {
  answerEndText,
  QUESTION_NAMES,
  type QuestionName,
  type QuestionRow,
  QUESTIONS,
} from "../../shared/protocol/questions.ts";
import { type MachineFlags, type MachineSettings, machineSettings } from "../machine/settings.ts";
import { machineFlags, withSet, workerFlags } from "./flags.ts";
import { likeService } from "./service-flags.ts";

interface AskFlags extends MachineFlags {
  state: string;
  url?: string;
  list?: true;
}

export function addAskCommand(program: Command): void {
  machineFlags(workerFlags(likeService(program.command("ask"))))
    .description("Answer a question about this machine, as its owner has allowed it. Changes nothing.")
    .argument("[question]", "a name of --list")
    .argument("[parameters...]", "NAME=VALUE")
    .option("--list", "list the questions: whether they are on, their bounds and parameters")
    .addHelpText("after", ASK_HELP)
    .action(async (name: string | undefined, parameters: string[], flags: AskFlags) => {
      const settings = machineSettings(withSet(flags));
      if (flags.list || name === undefined) process.stdout.write(listText(settings.questions));
      else process.exitCode = await ask(name, parameters, settings, flags);
    });
}

const ASK_HELP = `
Examples:
  node-shim ask --list
  node-shim ask logs unit=nginx since=10m grep=error
  node-shim ask --questions logs logs kernel=yes

The service's --questions decide, as for questions from elsewhere. A --questions on the command line replaces them: a user
who may run this command may also read what it reads.

Exit codes: 0 the answer is complete or cut at its size, 1 it is not, or the question is off or wrong`;

/** Returns the lines of --list: the bounds of each question, and below them its meaning. */
function listText(on: ReadonlySet<QuestionName>): string {
  const rows = QUESTION_NAMES.map((name) => {
    const { usage, help, seconds }: QuestionRow = QUESTIONS[name];
    const bounds = `${String(seconds).padStart(2)} s  ${QUESTION_LIMITS.answerBytes / 1024} KiB`;
    return `${on.has(name) ? "on " : "off"}  ${bounds}  ${`${name} ${usage}`.trim()}\n    ${help}\n`;
  });
  return rows.join("");
}

async function ask(
  name: string,
  parameters: readonly string[],
  settings: MachineSettings,
  flags: AskFlags,
): Promise<0 | 1> {
  const [{ acceptedQuestion, answer }, { questionHost }] = await Promise.all([
    import("../questions/answer.ts"),
    import("../questions/host.ts"),
  ]);
  const question = acceptedQuestion(
    { name, parameters: Object.fromEntries(parameters.map(pair)) },
    settings.questions,
  );
  if (!question.ok) throw new Error(question.error);
  const gone = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => gone.abort());
  const chunks = answer(question.value, questionHost(settings, flags), gone.signal);
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) {
      const text = answerEndText(value);
      if (text !== null) process.stderr.write(`node-shim: ${name}: ${text}\n`);
      return value.reason === "complete" || value.reason === "cut" ? 0 : 1;
    }
    if (!process.stdout.write(value)) await once(process.stdout, "drain");
  }
}

function pair(parameter: string): [string, string] {
  const at = parameter.indexOf("=");
  if (at < 1) throw new Error(`"${parameter}" is not NAME=VALUE`);
  return [parameter.slice(0, at), parameter.slice(at + 1)];
}
