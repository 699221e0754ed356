// Runs rollcall node …: shows one machine by its Node's name, also on one screen, and acts on it. Each action is
// also a command of its own: `rollcall forget edge-7` is `rollcall node forget edge-7`.
import { printable } from "../../shared/protocol/printable.ts";
import { type Command, Option } from "commander";
import { BULK_ACTIONS } from "../../shared/fleet/action-words.ts";
import { machineLink } from "../../shared/fleet/page-links.ts";
import {
  historySchema,
  type ListedSenders,
  orderedClearingSchema,
  sendersSchema,
  wholeNodeSchema,
} from "../../shared/protocol/operator-answers.ts";
import { RUNTIME_NEEDS, type RuntimeNeed } from "../../shared/protocol/operator-api.ts";
import { success } from "../../shared/result.ts";
import { actionCommand, ACTIONS, actOnOne } from "./act-commands.ts";
import { answer, connect, done, fail, print, shown } from "./answer.ts";
import { ask, nodePath, noMachine, type OperatorRequest, readAnswer } from "./client.ts";
import { nodeScreen } from "./fleet/machine-screen.ts";
import { pendingCommands } from "./key-commands.ts";
import { maintenanceCommand } from "./maintenance-command.ts";
import { type LogFlags, machineHistory, withLogFlags } from "./log-commands.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, type Shown, textOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

const HELP = `
Examples:
  rollcall node edge-7
  rollcall node history edge-7
  rollcall node set edge-7 --runtime none
  rollcall node maintenance edge-7 begin --until 4h`;

const CLEAR_HELP = `
The machine gets the order with the answer to its next report. A silent machine gets it once it reports again.

Examples:
  rollcall node clear edge-7 KernelDeadlock
  rollcall node clear edge-7 KernelDeadlock --withdraw`;

export function nodeCommands(program: OperatorProgram): void {
  const node = program
    .command("node")
    .argument("[name]")
    .allowExcessArguments()
    .description("Show a machine's state, the reason why its Node is not Ready, and the remedy.")
    .addHelpText("after", HELP)
    .action((name: string | undefined) => {
      if (name === undefined) return node.help({ error: true });
      if (node.args.length > 1) return node.error(`error: unknown command '${name}'`);
      return getNode(program, name);
    });
  node
    .command("get <name>")
    .description("The same as node NAME, for a machine whose name is also the name of a command.")
    .action((name: string) => getNode(program, name));
  pendingCommands(program, node, "pending");
  actionCommands(program, node);
  senderCommands(program, node);
  clearCommand(program, node);
  setCommand(program, node);
  maintenanceCommand(program, node);
  historyCommand(program, node);
  pendingCommands(program, program, "approvals");
}

/** The number of history lines on the screen of one machine. */
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
    const command = actionCommand(node, action, "<name>");
    if (consequence === "") command.description(description);
    else
      command
        .description(`${description} Asks first.`)
        .option("--yes", "do not ask for confirmation (for scripts)");
    command.action((name: string, flags: { yes?: boolean }) => actOnOne(program, action, name, flags));
  }
}

/** Adds the commands about the senders that report with one key. */
function senderCommands(program: OperatorProgram, node: Command): void {
  node
    .command("clones <name>")
    .description("List the senders that reported with this machine's key recently, newest first.")
    .action((name: string) => answer(program, get(name, "/clones"), shown(sendersSchema, senderList)));
}

function clearCommand(program: OperatorProgram, node: Command): void {
  node
    .command("clear <name> <condition>")
    .description(
      "End a condition that a problem detector of the machine holds, until the problem occurs again.",
    )
    .option(
      "--withdraw",
      "take back an order that the machine has not got yet, for example since it is silent",
    )
    .addHelpText("after", CLEAR_HELP)
    .action((name: string, condition: string, flags: { withdraw?: true }) =>
      answer(
        program,
        {
          method: "POST",
          path: nodePath(name, "/clear"),
          body: { condition, ...flags },
          missing: noMachine(name),
        },
        shown(orderedClearingSchema, ({ silentSince }) => {
          const silent = silentSince === null ? "" : `, silent since ${printable(silentSince)}`;
          const effect = flags.withdraw
            ? `the order to end ${condition} is withdrawn`
            : `${condition} ends with its next report`;
          return textOf(() => `${name}${silent}: ${effect}\n`);
        }),
      ),
    );
}

function setCommand(program: OperatorProgram, node: Command): void {
  const runtime = new Option(
    "--runtime <need>",
    "none: the Node can be Ready without a container runtime; auto: the Node is not Ready after the loss of its runtime",
  );
  node
    .command("set <name>")
    .description(
      "Set whether the machine needs a container runtime for its Node to be Ready. Takes effect with the next report.",
    )
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
    .description("List the changes of a machine, oldest first. The same as history NAME.");
  withLogFlags(command).action((name: string, flags: LogFlags) => machineHistory(program, name, flags));
}

const get = (name: string, what: "" | "/clones" | "/history?limit=6" = ""): OperatorRequest => ({
  method: "GET",
  path: nodePath(name, what),
  missing: noMachine(name),
});

type Sender = ListedSenders["senders"][number];

const SENDER_COLUMNS: readonly TableColumn<Sender>[] = [
  { head: "MACHINE-ID", of: ({ machineID }) => machineID, rank: 0 },
  { head: "BOOT-ID", of: ({ bootID }) => bootID, rank: 2 },
  { head: "PROCESS", of: ({ process }) => process, rank: 0 },
  { head: "ADDRESS", of: ({ address = "" }) => address, rank: 1 },
  { head: "SINCE", of: ({ since }) => since, rank: 1 },
  { head: "TRUSTED", of: ({ isBelieved }) => (isBelieved ? "yes" : "no"), rank: 0 },
];

/** Renders a line about duplicates, if there are any, and then a line for each sender. */
export function senderList({ double, senders }: ListedSenders): Shown {
  const phase = double
    ? `${printable(double.phase)} since ${double.since}; ${double.turns} turns, the last one at ${double.lastTurn}\n\n`
    : "";
  const list = listOf(senders, () => SENDER_COLUMNS, { nameOf: ({ process }) => process });
  return { ...list, text: (view) => phase + list.text(view) };
}
