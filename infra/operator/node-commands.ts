// rollcall node …: one machine, by its Node's name. What is done to machines is a command of its own as well: `rollcall
// forget edge-7` is `rollcall node forget edge-7`.
import { type Command, Option } from "commander";
import { BULK_ACTIONS } from "../../shared/fleet/action-words.ts";
import { machineLink } from "../../shared/fleet/page-links.ts";
import { historySchema, sendersSchema, wholeNodeSchema } from "../../shared/protocol/operator-answers.ts";
import { RUNTIME_NEEDS, type RuntimeNeed } from "../../shared/protocol/operator-api.ts";
import { success } from "../../shared/result.ts";
import { actOnOne } from "./acts/act-on-one.ts";
import { ACTIONS, noMachine, nodePath } from "./acts/actions.ts";
import { answer, connect, done, fail, print, shown } from "./answer.ts";
import { ask, type OperatorRequest, readAnswer } from "./client.ts";
import { machineHistory } from "./fleet/history-command.ts";
import { type LogFlags, withLogFlags } from "./fleet/log-flags.ts";
import { nodeScreen } from "./node-screen.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { pendingCommands } from "./pending-commands.ts";
import { senderList } from "./print.ts";

const HELP = `
Examples:
  rollcall node edge-7
  rollcall node history edge-7
  rollcall node set edge-7 --runtime none`;

export function nodeCommands(program: OperatorProgram): void {
  const node = program
    .command("node")
    .argument("[name]")
    .allowExcessArguments()
    .description("One machine: what is known of it, why it is not ready, and what to do.")
    .addHelpText("after", HELP)
    .action((name: string | undefined) => {
      if (name === undefined) return node.help({ error: true });
      if (node.args.length > 1) return node.error(`error: unknown command '${name}'`);
      return getNode(program, name);
    });
  node
    .command("get <name>")
    .description("The same as node NAME, also for a machine that is called like one of these commands.")
    .action((name: string) => getNode(program, name));
  pendingCommands(program, node, "pending");
  actionCommands(program, node);
  senderCommands(program, node);
  setCommand(program, node);
  historyCommand(program, node);
  pendingCommands(program, program, "approvals");
}

/** Lines of history on its screen. */
const LAST_LINES = 6;

async function getNode(program: OperatorProgram, name: string): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const [sent, history] = await Promise.all([
    ask(connection.value, get(name)),
    ask(connection.value, get(name, `/history?limit=${LAST_LINES}`)),
  ]);
  if (!sent.ok) return fail(program, sent.error);
  if (!history.ok) return fail(program, history.error);
  await print(
    program,
    () => {
      const node = readAnswer(wholeNodeSchema, sent.value);
      const log = readAnswer(historySchema, history.value);
      if (!node.ok) return node;
      const page = machineLink(connection.value.url, name);
      return log.ok ? success(nodeScreen(node.value, log.value.entries, page)) : log;
    },
    sent.value,
  );
}

function actionCommands(program: OperatorProgram, node: Command): void {
  for (const action of BULK_ACTIONS) {
    const { description, consequence } = ACTIONS[action];
    const command = node.command(`${action} <name>`);
    if (consequence === "") command.description(description);
    else command.description(`${description} Asks first.`).option("--yes", "do not ask: for scripts");
    command.action((name: string, flags: { yes?: boolean }) => actOnOne(program, action, name, flags));
  }
}

/** Of a key that several machines report with. */
function senderCommands(program: OperatorProgram, node: Command): void {
  node
    .command("clones <name>")
    .description("Who has reported with this machine's key of late, newest first, and whether several do.")
    .action((name: string) => answer(program, get(name, "/clones"), shown(sendersSchema, senderList)));
}

function setCommand(program: OperatorProgram, node: Command): void {
  const runtime = new Option(
    "--runtime <need>",
    "none: a container runtime that is gone does not keep its Node from being Ready; auto: it does again",
  );
  node
    .command("set <name>")
    .description("What the machine needs to be Ready; it counts with the next report.")
    .addOption(runtime.choices(RUNTIME_NEEDS).makeOptionMandatory())
    .action((name: string, change: { runtime: RuntimeNeed }) =>
      answer(
        program,
        { method: "PATCH", path: nodePath(name), body: change, missing: noMachine(name) },
        done(`${name}: runtime ${change.runtime} with its next report`),
      ),
    );
}

function historyCommand(program: OperatorProgram, node: Command): void {
  const command = node
    .command("history <name>")
    .description("What changed on this machine, oldest first: the same as history NAME.");
  withLogFlags(command).action((name: string, flags: LogFlags) => machineHistory(program, name, flags));
}

const get = (name: string, what = ""): OperatorRequest => ({
  method: "GET",
  path: nodePath(name, what),
  missing: noMachine(name),
});
