// Asks for machines, page by page, as many as are wanted.
import { machinesSchema } from "../../../shared/protocol/fleet-answers.ts";
import { PAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import { type Result, success } from "../../../shared/result.ts";
import { ask, askUnlessSame, readAnswer, type WorkerConnection } from "../client.ts";
import type { OperatorFault } from "../fault.ts";
import { harmless, painted, type TerminalScreen } from "../render/terminal.ts";
import { TYPED_FILTER } from "./filter-flags.ts";
import { type FoundMachines, paintOf, type PartialMachine } from "./machine-list.ts";

export interface MachineWish {
  filter: Readonly<Record<string, string>>;
  sort: string;
  /** Comma-separated; undefined: all. */
  fields: string | undefined;
  limit: number;
}

interface AskedMachines extends FoundMachines {
  /** Of the first page: it changes with anything in the fleet. */
  etag: string | undefined;
  /** It is the one that was passed: there are no machines in this answer. */
  isUnchanged: boolean;
}

/** The counts are those of the first page. `etag`: of the same wish before. */
export async function askMachines(
  connection: WorkerConnection,
  wish: MachineWish,
  etag?: string,
): Promise<Result<AskedMachines, OperatorFault>> {
  const first = await askUnlessSame(connection, requestOf(wish, 0, null), etag);
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
    if (cursor === null || machines.length >= wish.limit)
      return success({ machines, counts, etag: first.value.etag, isUnchanged: false });
    const next = await ask(connection, requestOf(wish, machines.length, cursor));
    if (!next.ok) return next;
    sent = next.value;
  }
}

function requestOf({ filter, sort, fields, limit }: MachineWish, had: number, cursor: string | null) {
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

export interface MachineLooks {
  /** null: nothing has changed since the last one. */
  next: () => Promise<Result<FoundMachines | null, OperatorFault>>;
}

/** A Worker that cannot be reached for a moment, or is deployed anew, does not end who waits for it. */
const FAILURES_IN_A_ROW = 5;

export function machineLooks(connection: WorkerConnection, wish: MachineWish): MachineLooks {
  let etag: string | undefined;
  let failures = 0;
  let hasAnswered = false;
  return {
    next: async () => {
      const found = await askMachines(connection, wish, etag);
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
  /** null: it did not match before. */
  from: string | null;
  /** null: it matches no more, or is gone. */
  to: string | null;
  why: string;
}

/** By who they are, as they were asked for. */
export type MachineLook = ReadonlyMap<string, PartialMachine>;

export const lookOf = (machines: readonly PartialMachine[]): MachineLook =>
  new Map(machines.map((machine) => [identityOf(machine), machine]));

/** A machine that waits for a name has it in common with the one that holds it, and with others that wait. */
const identityOf = ({ name = "", state, since = "" }: PartialMachine) =>
  state === "pending" ? `${name} ${since}` : name;

/** A state that has ended and begun again since is a change as well. */
export function hasChanged(before: MachineLook, machine: PartialMachine): boolean {
  const known = before.get(identityOf(machine));
  const { state, since, why = "" } = machine;
  return !known || known.state !== state || known.since !== since || (known.why ?? "") !== why;
}

export function changesBetween(before: MachineLook, after: MachineLook): StateChange[] {
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

/** `12:00:31  edge-7  silent → ready` */
export function changeLine(
  { name, from, to, why }: StateChange,
  nowMs: number,
  screen: TerminalScreen,
): string {
  const time = new Date(nowMs).toISOString().slice(11, 19);
  const word = (state: string) => painted(harmless(state), paintOf(state), screen);
  const states =
    from === to || from === null ? word(to ?? "") : `${word(from)} → ${to === null ? NO_MORE : word(to)}`;
  return `${time}Z  ${harmless(name)}  ${states}${why === "" ? "" : `  ${harmless(why)}`}\n`;
}

const NO_MORE = "matches no more";
