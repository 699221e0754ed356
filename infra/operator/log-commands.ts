// rollcall history: what changed on one machine, as its object knows it, or on all of them, as the fleet index does.
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
import { HISTORY_KINDS } from "../../shared/protocol/operator-api.ts";
import { success } from "../../shared/result.ts";
import { connect, fail, print } from "./answer.ts";
import { ask, nodePath, noMachine, readAnswer } from "./client.ts";
import { timeOf, timeText, wholeNumber } from "./flag-values.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, type Shown } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

const HISTORY_HELP = `
Examples:
  rollcall history edge-7                          what changed on it before it went dark
  rollcall history --since 2h --kind state         which machines changed their state
  rollcall history --since 1d --text 'cut off'     which were cut off, and not down`;

const COLUMNS: readonly TableColumn<FleetHistoryEntry>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 2 },
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "KIND", of: ({ kind }) => kind, rank: 1 },
  { head: "", of: ({ text }) => text, rank: 0, least: 20 },
];

/** Oldest first, as logs are read. */
const fleetHistoryList = (entries: readonly FleetHistoryEntry[]): Shown =>
  listOf(entries.toReversed(), () => COLUMNS, { nameOf: ({ name }) => name });

export function historyCommand(program: OperatorProgram): void {
  const command = program
    .command("history [name]")
    .description("What changed, oldest first: on this machine, or on all of them.");
  withLogFlags(command)
    .option("--text <text>", "only lines with this text")
    .addHelpText("after", HISTORY_HELP)
    .action((name: string | undefined, flags: LogFlags) => {
      if (name !== undefined && flags.text === undefined) return machineHistory(program, name, flags);
      const query = logQuery(flags, program.surroundings.now());
      if (name !== undefined) query.set("name", name);
      const log = { path: `/v1/history?${query.toString()}`, limit: flags.limit, typed: TYPED_LOG };
      return answerLog(program, log, fleetHistorySchema, fleetHistoryList);
    });
}

/** Of one machine, as its object knows it. */
export function machineHistory(program: OperatorProgram, name: string, flags: LogFlags): Promise<void> {
  const query = logQuery(flags, program.surroundings.now());
  const path = nodePath(name, `/history?${query.toString()}`);
  const log = { path, limit: flags.limit, missing: noMachine(name), typed: TYPED_LOG };
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
    .option("--since <time>", "only what came after: 15m, 2h, 3d, or 2026-01-31T12:00:00Z", timeText)
    .option("--until <time>", "only what came before", timeText)
    .option("--kind <kinds>", `only of these kinds: ${HISTORY_KINDS.join(", ")}`)
    .option("--limit <n>", "at most so many lines, the latest", wholeNumber, 100);
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
What operators did is kept for a year, whatever machines do. To keep it longer, export it:
  rollcall audit --all --json > audit.json`;

export function auditCommand(program: OperatorProgram): void {
  program
    .command("audit")
    .description("Who changed what, oldest first: operators, or machines; or which enrolments were refused.")
    .option("--machines", "what machines caused: enrolments, rotations, leaves; the latest of each name")
    .option("--refused", "enrolments that were refused, with the IDs of their tokens; the latest")
    .option("--target <name>", "only what was done to this Node, or to the token of this ID")
    .option("--limit <n>", "at most so many entries", wholeNumber, 100)
    .option("--all", "all entries that are kept")
    .addHelpText("after", AUDIT_HELP)
    .action(({ machines = false, refused = false, target, limit, all = false }: AuditFlags) => {
      const caused = machines ? "machines" : "operators";
      const query = new URLSearchParams({ by: refused ? "refusals" : caused });
      if (target !== undefined) query.set("target", target);
      const log = { path: `/v1/audit?${query.toString()}`, limit: all ? Infinity : limit };
      return answerLog(program, log, auditSchema, auditList);
    });
}

/** Where the entries of one log are, and how many of them are wanted. */
interface LogRequest {
  /** `/v1/audit?by=machines`: what follows the path is added to its query. */
  path: string;
  limit: number;
  missing?: string;
  typed?: Record<string, string>;
}

/** Asks page by page, newest first, and prints the entries together: with -o json as the Worker sent them. */
async function answerLog<Entry extends { id: number }>(
  program: OperatorProgram,
  { path, limit, ...request }: LogRequest,
  schema: ZodMiniType<{ entries: Entry[] }>,
  show: (entries: readonly Entry[]) => Shown,
): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const entries: Entry[] = [];
  while (entries.length < limit) {
    const last = entries.at(-1)?.id;
    const wanted = `limit=${Math.min(limit - entries.length, PAGE_LIMITS.entries)}`;
    const query = last === undefined ? wanted : `${wanted}&before=${last}`;
    const answered = await ask(connection.value, {
      ...request,
      method: "GET",
      path: `${path}${path.includes("?") ? "&" : "?"}${query}`,
    });
    const page = answered.ok ? readAnswer(schema, answered.value) : answered;
    if (!page.ok) return fail(program, page.error);
    if (page.value.entries.length === 0) break;
    entries.push(...page.value.entries);
  }
  await print(program, () => success(show(entries)), { entries });
}

/** A text that may be cut, and what is left of it. */
const TEXT = { rank: 0, least: 24 };

const AUDIT_COLUMNS: readonly TableColumn<AuditEntry>[] = [
  { head: "WHEN", of: ({ at }) => at, rank: 2 },
  { head: "WHO", of: ({ who }) => who, rank: 0, least: 12 },
  { head: "WHAT", of: ({ what }) => what, rank: 0 },
  { head: "TARGET", of: ({ target }) => target, rank: 0 },
  { head: "", of: ({ detail }) => detail, ...TEXT, rank: 1 },
];

/** Oldest first, as logs are read. */
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
      "When the cluster's Nodes were not watched, and why, oldest first. How it is now: rollcall ready.",
    )
    .option("--limit <n>", "at most so many entries", wholeNumber, 100)
    .option("--all", "all entries that are kept")
    .action(({ limit, all = false }: { limit: number; all?: boolean }) => {
      const log = { path: "/v1/cluster/history", limit: all ? Infinity : limit };
      return answerLog(program, log, clusterHistorySchema, clusterList);
    });
}
