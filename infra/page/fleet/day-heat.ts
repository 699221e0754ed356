// Calculates, for each group of machines and each hour, how many machines were not ready at the same time. Pure.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { parseStateBefore, parseStateChange } from "../../../shared/fleet/state.ts";
import type { FleetHistoryEntry } from "../../../shared/protocol/fleet-answers.ts";
import { type GroupBy, groupValue } from "./fleet-groups.ts";

export const HOUR_MS = 3_600_000;
const HOURS = 24;

/** Returns the starts of the last 24 hours of the clock in milliseconds since 1970; the last hour is not over. */
export function lastHours(nowMs: number): number[] {
  const last = Math.floor(nowMs / HOUR_MS);
  return Array.from({ length: HOURS }, (_, at) => (last - HOURS + 1 + at) * HOUR_MS);
}

export interface HeatRow {
  /** The value that the machines share. "" for machines without a value; null for all machines. */
  value: string | null;
  machines: number;
  /** For each hour, the most machines that were not ready at one time. null before the first known change. */
  cells: (number | null)[];
}

interface StateBefore {
  name: string;
  atMs: number;
  /** true if the machine was not ready before the change; false also if it was not enrolled. */
  wasBad: boolean;
}

/** Returns the changes of these machines' states, newest first. `lines`: history of the kind `state`, newest first. */
export function stateChanges(
  machines: ReadonlyMap<string, Pick<FeedMachine, "state" | "sinceMs">>,
  lines: readonly FleetHistoryEntry[],
): StateBefore[] {
  const newest = new Map<string, string | null>();
  const changes: StateBefore[] = [];
  for (const { name, at, text } of lines) {
    if (!newest.has(name)) newest.set(name, parseStateChange(text));
    const before = parseStateBefore(text);
    changes.push({ name, atMs: Date.parse(at), wasBad: before !== null && before !== "ready" });
  }
  // The feed is newer than the lines: a change without a line has the time of the machine's present state.
  for (const [name, { state, sinceMs }] of machines) {
    const before = newest.get(name) ?? null;
    if (before !== state)
      changes.push({ name, atMs: sinceMs, wasBad: before !== null && before !== "ready" });
  }
  return changes.sort((a, b) => b.atMs - a.atMs);
}

interface Heat {
  hours: readonly number[];
  /** The changes of stateChanges. */
  changes: readonly StateBefore[];
  /** The time from which on all changes are known, in milliseconds since 1970. */
  knownFromMs: number;
}

/** Returns a row for all machines, and then for each group: the row with most machines not ready first. */
export function heatRows(machines: readonly FeedMachine[], by: GroupBy, heat: Heat): HeatRow[] {
  const groups = Map.groupBy(machines, (machine) => groupValue(machine, by));
  const valueOf = new Map(machines.map((machine) => [machine.name, groupValue(machine, by)]));
  // Each group goes through its own changes only: a label may have hundreds of values.
  const changesOf = Map.groupBy(heat.changes, ({ name }) => valueOf.get(name));
  const rows = [...groups].map(([value, of]) => {
    const changes = changesOf.get(value) ?? [];
    return { row: heatRow(value, of, { ...heat, changes }), share: 0 };
  });
  for (const each of rows)
    each.share = each.row.cells.reduce<number>((sum, cell) => sum + (cell ?? 0), 0) / each.row.machines;
  rows.sort((a, b) => b.share - a.share || ((a.row.value ?? "") < (b.row.value ?? "") ? -1 : 1));
  return [heatRow(null, machines, heat), ...rows.map(({ row }) => row)];
}

/** Goes back in time from the present states. */
function heatRow(
  value: string | null,
  machines: readonly FeedMachine[],
  { hours, changes, knownFromMs }: Heat,
): HeatRow {
  const bad = new Map(machines.map(({ name, state }) => [name, state !== "ready"]));
  let count = [...bad.values()].filter(Boolean).length;
  let at = hours.length - 1;
  const cells = hours.map((): number | null => null);
  const note = (until: number) => {
    for (; at > until; at--) cells[at] = Math.max(cells[at] ?? 0, count);
    if (at >= 0) cells[at] = Math.max(cells[at] ?? 0, count);
  };
  const [firstMs = 0] = hours;
  const hourOf = (atMs: number) => Math.min(hours.length - 1, Math.floor((atMs - firstMs) / HOUR_MS));
  for (const { name, atMs, wasBad } of changes) {
    const isBad = bad.get(name);
    if (isBad === undefined || atMs < Math.max(firstMs, knownFromMs)) continue;
    note(hourOf(atMs));
    bad.set(name, wasBad);
    count += Number(wasBad) - Number(isBad);
    note(at);
  }
  note(Math.max(0, hourOf(knownFromMs)));
  return { value, machines: machines.length, cells };
}

/** Returns the look of a cell: 0 for no machine, up to 3 for at least half of the machines. */
export function heatLevel(count: number, machines: number): 0 | 1 | 2 | 3 {
  if (count === 0) return 0;
  return count * 2 >= machines ? 3 : count * 10 >= machines ? 2 : 1;
}

export interface FoldedChange {
  kind: string;
  /** The text of the newest line. */
  text: string;
  /** The times of the newest and the oldest line, in RFC 3339. */
  lastAt: string;
  firstAt: string;
  /** The machines' names, each once, in the order of the lines. */
  names: string[];
}

/** Matches what differs in lines about the same change of several machines: times and durations. */
const OWN_PARTS = /\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d+ (?:s|min|h|d)\b/g;

/** Joins lines about the same change: the newest change first. */
export function foldedChanges(lines: readonly FleetHistoryEntry[]): FoldedChange[] {
  return [
    ...Map.groupBy(lines, ({ kind, text }) => `${kind} ${text.replaceAll(OWN_PARTS, "…")}`).values(),
  ].map((of) => ({
    kind: of[0]!.kind,
    text: of[0]!.text,
    lastAt: of[0]!.at,
    firstAt: of.at(-1)!.at,
    names: [...new Set(of.map(({ name }) => name))],
  }));
}
