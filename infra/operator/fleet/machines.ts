// Reads machines from the Worker, page by page or again and again, and finds the changes between two readings.
import { printable } from "../../../shared/protocol/printable.ts";
import { machinesSchema } from "../../../shared/protocol/fleet-answers.ts";
import { PAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import { type Result, success } from "../../../shared/result.ts";
import { ask, askUnlessSame, newList, readAnswer, type WorkerConnection } from "../client.ts";
import type { OperatorFault } from "../fault.ts";
import { painted, type TerminalScreen } from "../render/terminal.ts";
import { TYPED_FILTER } from "./filter-flags.ts";
import { type FoundMachines, paintOf, type PartialMachine } from "./machine-list.ts";

export interface MachineQuery {
  filter: Readonly<Record<string, string>>;
  sort: string;
  /** The names of the wanted fields with commas between them, or undefined for all fields. */
  fields: string | undefined;
  limit: number;
}

interface AskedMachines extends FoundMachines {
  /** The ETag of the first page, which changes with each change of the fleet. */
  etag: string | undefined;
  /** true if the ETag is the `etag` of the call. The answer then has no machines. */
  isUnchanged: boolean;
}

/** Reads up to `limit` machines by pages, with the first page's counts. `etag` is from this query's last answer. */
export async function askMachines(
  connection: WorkerConnection,
  query: MachineQuery,
  etag?: string,
): Promise<Result<AskedMachines, OperatorFault>> {
  const list = newList();
  const first = await askUnlessSame(connection, { ...requestOf(query, 0, null), list }, etag);
  if (!first.ok) return first;
  if (first.value === null)
    return success({ machines: [], counts: { matching: {}, fleet: {} }, etag, isUnchanged: true });
  const machines: PartialMachine[] = [];
  let sent = first.value.body;
  for (;;) {
    const page = readAnswer(machinesSchema, sent);
    if (!page.ok) return page;
    const { cursor, counts } = page.value;
    machines.push(...page.value.machines);
    if (cursor === null || machines.length >= query.limit)
      return success({ machines, counts, etag: first.value.etag, isUnchanged: false });
    const next = await ask(connection, { ...requestOf(query, machines.length, cursor), list });
    if (!next.ok) return next;
    sent = next.value;
  }
}

function requestOf({ filter, sort, fields, limit }: MachineQuery, had: number, cursor: string | null) {
  const query = new URLSearchParams({
    ...filter,
    sort,
    ...(fields !== undefined && { fields }),
    limit: String(Math.min(limit - had, PAGE_LIMITS.entries)),
    ...(cursor !== null && { cursor }),
  });
  const typed = { ...TYPED_FILTER, sort: "--sort", fields: "--fields" };
  return { method: "GET", path: `/v1/machines?${query.toString()}`, typed } as const;
}

export interface MachinePoll {
  /** Reads the machines. Resolves with null if nothing has changed since the last reading. */
  next: () => Promise<Result<FoundMachines | null, OperatorFault>>;
}

/** The number of failures in a row that ends a watch. Fewer may be a network fault or a deployment. */
const FAILURES_IN_A_ROW = 5;

export function pollMachines(connection: WorkerConnection, query: MachineQuery): MachinePoll {
  let etag: string | undefined;
  let failures = 0;
  let hasAnswered = false;
  return {
    next: async () => {
      const found = await askMachines(connection, query, etag);
      if (found.ok) {
        failures = 0;
        hasAnswered = true;
        ({ etag } = found.value);
        return success(found.value.isUnchanged ? null : found.value);
      }
      const passes = found.error.reason === "unreachable" || found.error.reason === "failed";
      failures++;
      return hasAnswered && passes && failures < FAILURES_IN_A_ROW ? success(null) : found;
    },
  };
}

export interface StateChange {
  name: string;
  /** The former state. null if the machine did not match the filter before. */
  from: string | null;
  /** The present state. null if the machine no longer matches the filter, or no longer exists. */
  to: string | null;
  why: string;
}

/** The machines of one reading, by their identity. */
export type MachineSnapshot = ReadonlyMap<string, PartialMachine>;

export const snapshotOf = (machines: readonly PartialMachine[]): MachineSnapshot =>
  new Map(machines.map((machine) => [identityOf(machine), machine]));

/** Returns a machine's identity in a list: a pending machine's name and time, since several may await one name. */
const identityOf = ({ name = "", state, since = "" }: PartialMachine) =>
  state === "pending" ? `${name} ${since}` : name;

/** Returns true for another state or reason, or for a state that ended and began again between two readings. */
export function hasChanged(before: MachineSnapshot, machine: PartialMachine): boolean {
  const known = before.get(identityOf(machine));
  const { state, since, why = "" } = machine;
  return !known || known.state !== state || known.since !== since || (known.why ?? "") !== why;
}

export function changesBetween(before: MachineSnapshot, after: MachineSnapshot): StateChange[] {
  const changes: StateChange[] = [];
  for (const [identity, machine] of after) {
    const { name = "", state = "", why = "" } = machine;
    if (hasChanged(before, machine))
      changes.push({ name, from: before.get(identity)?.state ?? null, to: state, why });
  }
  for (const [identity, { name = "", state = "" }] of before)
    if (!after.has(identity)) changes.push({ name, from: state, to: null, why: "" });
  return changes;
}

/** Returns a line like `12:00:31  edge-7  silent → ready`. */
export function changeLine(
  { name, from, to, why }: StateChange,
  nowMs: number,
  screen: TerminalScreen,
): string {
  const time = new Date(nowMs).toISOString().slice(11, 19);
  const word = (state: string) => painted(printable(state), paintOf(state), screen);
  const states =
    from === to || from === null ? word(to ?? "") : `${word(from)} → ${to === null ? NO_MORE : word(to)}`;
  return `${time}Z  ${printable(name)}  ${states}${why === "" ? "" : `  ${printable(why)}`}\n`;
}

const NO_MORE = "no longer matches";
