// What changed between two looks at machines, as lines. Pure.
import { painted, type TerminalScreen } from "../render/screen.ts";
import { harmless } from "../render/text.ts";
import { type PartialMachine, paintOf } from "./machine-list.ts";

export interface StateChange {
  name: string;
  /** null: it did not match before. */
  from: string | null;
  /** null: it matches no more, or is gone. */
  to: string | null;
  why: string;
}

/** By name, as they were asked for. */
export type MachinesByName = ReadonlyMap<string, PartialMachine>;

export const lookOf = (machines: readonly PartialMachine[]): MachinesByName =>
  new Map(machines.map((machine) => [machine.name ?? "", machine]));

/** A state that has ended and begun again since is a change as well. */
export function changesBetween(before: MachinesByName, after: MachinesByName): StateChange[] {
  const changes: StateChange[] = [];
  for (const [name, { state = "", since, why = "" }] of after) {
    const known = before.get(name);
    if (known?.state === state && known.since === since && (known.why ?? "") === why) continue;
    changes.push({ name, from: known?.state ?? null, to: state, why });
  }
  for (const [name, { state = "" }] of before)
    if (!after.has(name)) changes.push({ name, from: state, to: null, why: "" });
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
