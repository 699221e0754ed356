// Runs the commands about logs: rollcall history of one machine (from its node object) or of all machines (from the
// fleet index), rollcall audit, and rollcall cluster, the history of the watch of the cluster's Nodes.
import type { PathOf } from "../../shared/protocol/routes.ts";
import type { Command } from "commander";
import type { ZodMiniType } from "zod/mini";
import { type FleetHistoryEntry, fleetHistorySchema } from "../../shared/protocol/fleet-answers.ts";
import { PAGE_LIMITS } from "../../shared/protocol/limits.ts";
import {
  type AuditEntry,
  auditSchema,
  type ClusterEvent,
  clusterHistorySchema,
  type HistoryEntry,
  historySchema,
} from "../../shared/protocol/operator-answers.ts";
import { HISTORY_KINDS } from "../../shared/protocol/history-kinds.ts";
import { success } from "../../shared/result.ts";
import { connect, fail, print } from "./answer.ts";
import { ask, newList, nodePath, noMachine, readAnswer } from "./client.ts";
import { timeOf, timeText, wholeNumber } from "./flag-values.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, type Shown } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

const HISTORY_HELP = `
Examples:
  rollcall history edge-7                          what changed before it fell silent
  rollcall history --since 2h --kind state         which machines changed their state
  rollcall history --since 1d --text 'cut off'     which were cut off but not down`;

const COLUMNS: readonly TableColumn<FleetHistoryEntry>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 2 },
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "KIND", of: ({ kind }) => kind, rank: 1 },
  { head: "", of: ({ text }) => text, rank: 0, least: 20 },
];

/** Renders the history of all machines, oldest entry first. */
const fleetHistoryList = (entries: readonly FleetHistoryEntry[]): Shown =>
  listOf(entries.toReversed(), () => COLUMNS, { nameOf: ({ name }) => name });

export function historyCommand(program: OperatorProgram): void {
  const command = program
    .command("history [name]")
    .description("List the changes of one machine, or of all machines, oldest first.");
  withLogFlags(command)
    .option("--text <text>", "only entries with this text")
    .addHelpText("after", HISTORY_HELP)
    .action((name: string | undefined, flags: LogFlags) => {
      if (name !== undefined && flags.text === undefined) return machineHistory(program, name, flags);
      const query = logQuery(flags, program.surroundings.now());
      if (name !== undefined) query.set("name", name);
      const log = { path: `/v1/history?${query.toString()}`, limit: flags.limit, typed: TYPED_LOG } as const;
      return answerLog(program, log, fleetHistorySchema, fleetHistoryList);
    });
}

/** Prints the history of one machine, which its node object stores. */
export function machineHistory(program: OperatorProgram, name: string, flags: LogFlags): Promise<void> {
  const query = logQuery(flags, program.surroundings.now());
  const path = nodePath(name, `/history?${query.toString()}`);
  const log = { path, limit: flags.limit, missing: noMachine(name), typed: TYPED_LOG } as const;
  return answerLog(program, log, historySchema, historyList);
}

export interface LogFlags {
  since?: string;
  until?: string;
  kind?: string;
  text?: string;
  limit: number;
}

const TYPED_LOG = { since: "--since", until: "--until", kind: "--kind", text: "--text" };

export function withLogFlags(command: Command): Command {
  return command
    .option("--since <time>", "only entries after this time: 15m, 2h, 3d, or 2026-01-31T12:00:00Z", timeText)
    .option("--until <time>", "only entries before this time", timeText)
    .option("--kind <kinds>", `only of these kinds: ${HISTORY_KINDS.join(", ")}`)
    .option(
      "--limit <n>",
      "the number of lines to print at most; the latest lines are printed",
      wholeNumber,
      100,
    );
}

function logQuery({ since, until, kind, text }: LogFlags, nowMs: number): URLSearchParams {
  return new URLSearchParams({
    ...(since !== undefined && { since: timeOf(since, nowMs) }),
    ...(until !== undefined && { until: timeOf(until, nowMs) }),
    ...(kind !== undefined && { kind }),
    ...(text !== undefined && { text }),
  });
}

interface AuditFlags {
  machines?: boolean;
  refused?: boolean;
  target?: string;
  limit: number;
  all?: boolean;
}

const AUDIT_HELP = `
The Worker keeps operators' entries for a year; machines' entries do not push them out. To keep entries longer, export them:
  rollcall audit --all --json > audit.json`;

export function auditCommand(program: OperatorProgram): void {
  program
    .command("audit")
    .description("List operators' actions, machines' actions, or refused enrolments, oldest first.")
    .option(
      "--machines",
      "the log of machines' actions: the latest enrolments, key rotations and leaves of each name",
    )
    .option("--refused", "the log of refused enrolments, with the IDs of their tokens")
    .option("--target <name>", "only entries about this Node, or about the token with this ID")
    .option("--limit <n>", "the number of entries to print at most", wholeNumber, 100)
    .option("--all", "print all entries that the Worker keeps")
    .addHelpText("after", AUDIT_HELP)
    .action(({ machines = false, refused = false, target, limit, all = false }: AuditFlags) => {
      const caused = machines ? "machines" : "operators";
      const query = new URLSearchParams({ by: refused ? "refusals" : caused });
      if (target !== undefined) query.set("target", target);
      const log = { path: `/v1/audit?${query.toString()}`, limit: all ? Infinity : limit } as const;
      return answerLog(program, log, auditSchema, auditList);
    });
}

/** The log to read, and the number of entries. */
interface LogRequest {
  /** The path of the log, like `/v1/audit?by=machines`. answerLog adds limit and before to the query. */
  path: PathOf<"GET">;
  limit: number;
  missing?: string;
  typed?: Record<string, string>;
}

/** Reads a log page by page, the newest entries first, and prints all entries together. */
async function answerLog<Entry extends { id: number }>(
  program: OperatorProgram,
  { path, limit, ...request }: LogRequest,
  schema: ZodMiniType<{ entries: Entry[] }>,
  show: (entries: readonly Entry[]) => Shown,
): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const entries: Entry[] = [];
  const list = newList();
  while (entries.length < limit) {
    const last = entries.at(-1)?.id;
    const wanted = `limit=${Math.min(limit - entries.length, PAGE_LIMITS.entries)}`;
    const query = last === undefined ? wanted : `${wanted}&before=${last}`;
    const [bare, before] = path.split("?");
    const whole = `${bare}?${before === undefined ? "" : `${before}&`}${query}` as PathOf<"GET">;
    const answered = await ask(connection.value, { ...request, method: "GET", path: whole, list });
    const page = answered.ok ? readAnswer(schema, answered.value) : answered;
    if (!page.ok) return fail(program, page.error);
    if (page.value.entries.length === 0) break;
    entries.push(...page.value.entries);
  }
  await print(program, () => success(show(entries)), { entries });
}

/** A text column's rank and least width: it is never left out, but may be cut to this width. */
const TEXT = { rank: 0, least: 24 };

const AUDIT_COLUMNS: readonly TableColumn<AuditEntry>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 2 },
  { head: "WHO", of: ({ who }) => who, rank: 0, least: 12 },
  { head: "WHAT", of: ({ what }) => what, rank: 0 },
  { head: "TARGET", of: ({ target }) => target, rank: 0 },
  { head: "", of: ({ detail }) => detail, ...TEXT, rank: 1 },
];

/** Renders the audit log, oldest entry first. */
export const auditList = (entries: readonly AuditEntry[]): Shown =>
  listOf(entries.toReversed(), () => AUDIT_COLUMNS, { nameOf: ({ target }) => target });

const HISTORY_COLUMNS: readonly TableColumn<HistoryEntry>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 0 },
  { head: "KIND", of: ({ kind }) => kind, rank: 1 },
  { head: "", of: ({ text }) => text, ...TEXT },
];

export const historyList = (entries: readonly HistoryEntry[]): Shown =>
  listOf(entries.toReversed(), () => HISTORY_COLUMNS, { nameOf: () => "" });

const CLUSTER_COLUMNS: readonly TableColumn<ClusterEvent>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 0 },
  { head: "", of: ({ text }) => text, ...TEXT },
];

export const clusterList = (entries: readonly ClusterEvent[]): Shown =>
  listOf(entries.toReversed(), () => CLUSTER_COLUMNS, { nameOf: () => "" });

export function clusterCommand(program: OperatorProgram): void {
  program
    .command("cluster")
    .description(
      "List the times when the Worker did not watch the cluster's Nodes, with the reasons, oldest first. For the present state, use rollcall ready.",
    )
    .option("--limit <n>", "the number of entries to print at most", wholeNumber, 100)
    .option("--all", "print all entries that the Worker keeps")
    .action(({ limit, all = false }: { limit: number; all?: boolean }) => {
      const log = { path: "/v1/cluster/history", limit: all ? Infinity : limit } as const;
      return answerLog(program, log, clusterHistorySchema, clusterList);
    });
}
