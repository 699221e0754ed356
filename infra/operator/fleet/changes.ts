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
