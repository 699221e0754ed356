// Defines `ask`, which answers a question about this machine at its console, within the bounds of every answer.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { Socket } from "node:net";
import type { Command } from "commander";
import { resolve } from "node:path";
import type { AskBody } from "../../shared/protocol/asking.ts";
import { answerEndText } from "../../shared/protocol/questions.ts";
import { pinnedKeys } from "../machine/pinned-keys.ts";
import { type MachineFlags, type MachineSettings, machineSettings } from "../machine/settings.ts";
import { ASK_SOCKET } from "../service/unit.ts";
import { machineFlags, withSet, workerFlags } from "./flags.ts";
import { likeService } from "./service-flags.ts";

interface AskFlags extends MachineFlags {
  state: string;
  url?: string;
  list?: true;
  serve?: string | true;
}

export function addAskCommand(program: Command): void {
  machineFlags(workerFlags(likeService(program.command("ask"))))
    .description("Answer a question about this machine, as its owner has allowed it. Changes nothing.")
    .argument("[question]", "a name of --list")
    .argument("[parameters...]", "NAME=VALUE")
    .option("--list", "list the questions: whether they are on, their bounds and parameters")
    .option(
      "--serve [instance]",
      "answer one question on the connection that is the standard input (rollcall-ask@.service, whose %i is the instance)",
    )
    .addHelpText("after", ASK_HELP)
    .action(async (name: string | undefined, parameters: string[], flags: AskFlags, command: Command) => {
      const settings = machineSettings(withSet(flags));
      if (flags.serve !== undefined) await serve(settings, flags, String(flags.serve));
      else if (flags.list || name === undefined) process.stdout.write(await listText(settings, flags));
      else {
        const isOwn = command.getOptionValueSource("questions") === "cli";
        process.exitCode = await ask(name, parameters, settings, flags, !isOwn && hasAskUnit());
      }
    });
}

const ASK_HELP = `
Examples:
  node-shim ask --list
  node-shim ask logs unit=nginx since=10m grep=error
  node-shim ask --questions logs logs kernel=yes
  node-shim ask bundle > bundle.tar.gz

The service's --questions decide, and rollcall-ask.socket answers if it is on, as for questions from elsewhere. With
--questions on the command line, this command answers itself, with the rights of its user.

Exit codes: 0 the answer is complete or cut at its size, 1 it is not, or the question is off or wrong`;

/** Returns the lines of --list: the bounds of each question, and below them its meaning. */
async function listText({ questions, ownQuestions }: MachineSettings, flags: AskFlags): Promise<string> {
  const [{ listLines }, { ownQuestionsIn, QUESTIONS_FOLDER }] = await Promise.all([
    import("../questions/list.ts"),
    import("../config/own-questions.ts"),
  ]);
  const found = ownQuestionsIn(resolve(flags.questionsDir ?? QUESTIONS_FOLDER));
  const own = new Map([...found, ...ownQuestions]);
  const lines = listLines({ own }, (name) => (questions.has(name) ? "on   " : "off  "));
  return [...lines].map((line) => `${line}\n`).join("");
}

/** Returns whether this user may ask rollcall-ask.socket. */
const hasAskUnit = () => process.geteuid?.() === 0 && existsSync(ASK_SOCKET);

async function ask(
  name: string,
  parameters: readonly string[],
  settings: MachineSettings,
  flags: AskFlags,
  byUnit: boolean,
): Promise<0 | 1> {
  const [{ acceptedQuestion }, { answer }, { askUnit }, { questionHost }, { boundsOf }] = await answering();
  const asked = { name, parameters: Object.fromEntries(parameters.map(pair)) };
  const question = acceptedQuestion(asked, settings);
  if (!question.ok) throw new Error(question.error);
  if (name === "bundle" && process.stdout.isTTY)
    throw new Error("a bundle is no text: write it > bundle.tar.gz");
  const gone = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => gone.abort());
  const chunks = byUnit
    ? askUnit(ASK_SOCKET, asked, boundsOf(question.value).seconds, gone.signal)
    : answer(question.value, questionHost(settings, flags), gone.signal);
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

/** Loads what answers. The shim's other commands do without its memory. */
const answering = () =>
  Promise.all([
    import("../questions/answerer.ts"),
    import("../questions/answer.ts"),
    import("../questions/ask-unit.ts"),
    import("../questions/host.ts"),
    import("../config/own-questions.ts"),
  ]);

/**
 * Answers the question of the connection that systemd has made the standard input. The shim speaks
 * with the Worker, so that this process checks a proof too.
 */
async function serve(settings: MachineSettings, flags: AskFlags, instance: string): Promise<void> {
  const [{ acceptedQuestion }, { answer }, { serveQuestion, isShim }, { questionHost }] = await answering();
  const { name: machine, questionsFrom } = settings;
  const pins = questionsFrom !== null && isShim(instance) ? questionsFrom : null;
  await serveQuestion(new Socket({ fd: 0, readable: true, writable: true }), async function* (line, signal) {
    const { proof, ...asked } = (line ?? {}) as AskBody;
    const question = acceptedQuestion(asked, settings);
    if (!question.ok) return { reason: "refused", fault: question.error };
    if (pins !== null) {
      const { signerOfProof } = await import("../questions/proofs.ts");
      const signer = await signerOfProof(proof, { machine, question: asked }, pinnedKeys(pins));
      if (!signer.ok) return { reason: "refused", fault: signer.error };
    }
    return yield* answer(question.value, questionHost(settings, flags), signal);
  });
}

function pair(parameter: string): [string, string] {
  const at = parameter.indexOf("=");
  if (at < 1) throw new Error(`"${parameter}" is not NAME=VALUE`);
  return [parameter.slice(0, at), parameter.slice(at + 1)];
}
