// Runs rollcall node …: shows one machine by its Node's name, also on one screen, and acts on it. Each action is
// also a command of its own: `rollcall forget edge-7` is `rollcall node forget edge-7`.
import { printable } from "../../shared/protocol/printable.ts";
import { type Command, Option } from "commander";
import * as z from "zod/mini";
import { BULK_ACTIONS } from "../../shared/fleet/action-words.ts";
import { PHASE_EXPLANATIONS, STATE_EXPLANATIONS } from "../../shared/fleet/explanations.ts";
import { machineLink } from "../../shared/fleet/page-links.ts";
import { isWell } from "../../shared/fleet/well-conditions.ts";
import {
  type HistoryEntry,
  historySchema,
  type ListedSenders,
  sendersSchema,
  type WholeNode,
  wholeNodeSchema,
} from "../../shared/protocol/operator-answers.ts";
import { RUNTIME_NEEDS, type RuntimeNeed } from "../../shared/protocol/operator-api.ts";
import { success } from "../../shared/result.ts";
import { actionCommand, ACTIONS, actOnOne } from "./act-commands.ts";
import { answer, connect, done, fail, print, shown } from "./answer.ts";
import { ask, nodePath, noMachine, type OperatorRequest, readAnswer } from "./client.ts";
import { paintOf } from "./fleet/machine-list.ts";
import { pendingCommands } from "./key-commands.ts";
import { type LogFlags, machineHistory, withLogFlags } from "./log-commands.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { ageOf } from "./render/age.ts";
import { listOf, type Shown, textOf } from "./render/shown.ts";
import { pairs, type TableColumn } from "./render/table.ts";
import { type Paint, widthOf } from "./render/terminal.ts";

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
  setCommand(program, node);
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
  { head: "SINCE", of: ({ since }) => since, rank: 1 },
  { head: "BELIEVED", of: ({ isBelieved }) => (isBelieved ? "yes" : "no"), rank: 0 },
];

/** Renders a line about duplicates, if there are any, and then a line for each sender. */
export function senderList({ double, senders }: ListedSenders): Shown {
  const phase = double
    ? `${printable(double.phase)} since ${double.since}; ${double.turns} turns, the last one at ${double.lastTurn}\n\n`
    : "";
  const list = listOf(senders, () => SENDER_COLUMNS, { nameOf: ({ process }) => process });
  return { ...list, text: (view) => phase + list.text(view) };
}

type Line = readonly [name: string, text: string, paint?: Paint | undefined];

/** Renders one machine's screen. `entries`: its latest history, newest first. `page`: its address in the page. */
export const nodeScreen = (node: WholeNode, entries: readonly HistoryEntry[], page: string): Shown =>
  textOf(({ screen, nowMs }) => {
    const parts = [
      [...stateLines(node, nowMs), ...todoLines(node)],
      conditionLines(node, nowMs),
      vitalsLines(node),
      machineLines(node),
      workerLines(node, nowMs),
    ];
    const width = Math.max(...parts.flat().map(([name]) => widthOf(name)));
    const last = entries.toReversed().map(({ at, text }): Line => [`${at.slice(0, 19)}Z`, text]);
    return [
      ...parts.map((lines) =>
        pairs(
          lines.filter(([, text]) => text !== ""),
          screen,
          width,
        ),
      ),
      pairs(last, screen),
      pairs([["page", page]], screen),
    ]
      .filter((text) => text !== "")
      .join("\n");
  });

const withAge = (at: string, nowMs: number) => `${at} (${ageOf(at, nowMs)} ago)`;

function stateLines({ name, summary, phase, isReady, silentSince, node }: WholeNode, nowMs: number): Line[] {
  const wasReady = isReady ? "yes" : "no";
  const { isUnschedulable = false } = summary ?? {};
  return [
    ["name", name],
    ...(summary
      ? [
          [
            "state",
            `${summary.state} since ${withAge(summary.since, nowMs)}`,
            paintOf(summary.state),
          ] as const,
        ]
      : []),
    ["phase", phase ?? "never reported"],
    [
      "ready",
      silentSince ? `${wasReady} at its last report` : wasReady,
      isReady && !silentSince ? "green" : "red",
    ],
    ...(silentSince ? [["silent since", withAge(silentSince, nowMs)] as const] : []),
    ...(isUnschedulable ? [["cordoned", "yes"] as const] : []),
    ...(node === null && phase !== null ? [["Node", "none known"] as const] : []),
  ];
}

/** Returns the lines about problems and their remedies, or none if the machine is well. */
function todoLines(node: WholeNode): Line[] {
  const { summary } = node;
  const todo = todoOf(node);
  return [
    ...(summary?.why ? [["why", summary.why] as const] : []),
    ...(todo ? [["what to do", todo.replaceAll("NAME", node.name), "yellow"] as const] : []),
    ...(summary?.withheld ? [["withheld", summary.withheld] as const] : []),
  ];
}

function todoOf({ phase, isReady, silentSince, key }: WholeNode): string {
  if (key.isRefused) return STATE_EXPLANATIONS.revoked.todo;
  if (silentSince) return STATE_EXPLANATIONS.silent.todo;
  if (phase === null)
    return "it has enrolled and never reported: start its shim; `node-shim status` on the machine says more";
  if (phase === "registered") return isReady ? "" : "fix what the condition Ready reports";
  return Object.entries(PHASE_EXPLANATIONS).find(([each]) => each === phase)?.[1].todo ?? "";
}

/** Returns a line for each condition of the last report. The ages are from the fleet index. */
function conditionLines({ conditions, summary }: WholeNode, nowMs: number): Line[] {
  return conditions.map((condition): Line => {
    const { type, status, message = "" } = condition;
    const since = ageOf(summary?.conditions.find((each) => each.type === type)?.since, nowMs);
    const text = `${status}${since && ` for ${since}`}${message && `: ${message}`}`;
    return [type, text, isWell(condition) ? undefined : "red"];
  });
}

const signalsSchema = z.object({ signals: z.record(z.string(), z.tuple([z.number(), z.number()])) });

/** Returns a line for each resource: the available amount, and the eviction thresholds. */
function vitalsLines({ vitals, thresholds: { hard, soft } }: WholeNode): Line[] {
  const { data } = signalsSchema.safeParse(vitals);
  return Object.entries(data?.signals ?? {}).map(([signal, [available, capacity]]): Line => {
    const amount = /memory|fs\.available/.test(signal) ? binary : String;
    const percent = capacity > 0 ? ` (${Math.floor((available / capacity) * 100)}%)` : "";
    const limits = [
      ...(hard[signal] ? [`at least ${hard[signal]}`] : []),
      ...(soft[signal] ? [`soft ${soft[signal]}`] : []),
    ].join(", ");
    return [signal, `${amount(available)} of ${amount(capacity)}${percent}${limits && `; ${limits}`}`];
  });
}

const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** Returns an amount of bytes like `17.1Gi`. */
function binary(bytes: number): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1024 && unit < UNITS.length - 1) [amount, unit] = [amount / 1024, unit + 1];
  return `${amount >= 100 || unit === 0 ? Math.floor(amount) : amount.toFixed(1)}${UNITS[unit]}`;
}

const secondsOf = (ms: number) => `${Math.round(Math.abs(ms) / 1000)}s`;

function machineLines({ summary, machine, runtime, skewMs, isSkewed, allocatable }: WholeNode): Line[] {
  const skew: Line[] =
    isSkewed && skewMs !== null
      ? [["clock", `${secondsOf(skewMs)} ${skewMs > 0 ? "ahead of" : "behind"} the Worker's`, "yellow"]]
      : [];
  if (!summary) return [["machine ID", machine.machineID], ["runtime", runtime], ...skew];
  const { versions, addresses, address, capacity } = summary;
  const { shim, kernel, os, runtime: container, architecture } = versions;
  const amounts = (list: Record<string, string>) =>
    Object.entries(list)
      .map(([what, amount]) => `${what} ${amount}`)
      .join(", ");
  const known = (texts: string[]) => texts.filter((text) => text !== "").join(", ");
  return [
    ["shim", shim || "not known"],
    ["system", known([os, kernel, architecture])],
    ["runtime", known([container, runtime === "auto" ? "" : `--runtime ${runtime}`]) || "none"],
    ["capacity", amounts(capacity)],
    ...(allocatable ? [["a kubelet's allocatable", amounts(allocatable)] as const] : []),
    ["addresses", addresses.map((each) => `${each.type} ${each.address}`).join(", ")],
    ...(address ? [["reports from", address] as const] : []),
    ["machine ID", machine.machineID],
    ...skew,
  ];
}

function workerLines(node: WholeNode, nowMs: number): Line[] {
  const { lastReportAt, deadlines, outbox, key, transport } = node;
  const waiting =
    outbox.oldest === null ? "none" : `${outbox.waiting}, the oldest since ${withAge(outbox.oldest, nowMs)}`;
  const dropped = outbox.dropped > 0 ? `; ${outbox.dropped} were dropped` : "";
  return [
    [
      "last report",
      lastReportAt
        ? `${withAge(lastReportAt, nowMs)}, by ${transport}`
        : "not known: see history, or the Node's lease",
    ],
    ...(deadlines.lease ? [["lease until", deadlines.lease] as const] : []),
    ["events waiting", waiting + dropped],
    ["key", `${key.thumbprint}, since ${key.pinnedAt}`],
    ...(key.next ? [["next key", key.next] as const] : []),
    ["join token", key.token],
  ];
}
