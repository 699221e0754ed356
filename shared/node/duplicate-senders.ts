// Do several machines or processes report with one key? Decided by who took turns lately. Pure: what a report says of
// its sender, and when it came, are arguments.

/** Who sent a report, by its own words. */
export interface Sender {
  machineID: string;
  bootID: string;
  /** Of the shim's process. */
  startId: string;
}

interface Turn extends Sender {
  sinceMs: number;
}

export type DoublePhase = "cloned" | "two shims";

/** Several senders with one key. */
export interface Double {
  phase: DoublePhase;
  sinceMs: number;
  lastTurnMs: number;
  /** How often the sender has changed since. */
  turns: number;
  /** Of two shims: the process that speaks for the machine, and when it was heard of. */
  believed: string;
  heardMs: number;
}

export interface Sightings {
  /** Those of the last ten minutes and the one before, oldest first. A sender twice in a row is one process in two places. */
  turns: readonly Turn[];
  /** Absent: one sender, as far as is known. */
  double?: Double;
}

export const NOTHING_SEEN: Sightings = { turns: [] };

/** Nobody comes back twice within it but who was there all the time: a boot ID and a startId are never used again. */
const WINDOW_MS = 10 * 60_000;
/** Who was left and is seen again: A B A B has two. */
const RETURNS = 2;
/** Requests that one process cannot have signed twice; a machine that is put back to a snapshot may send one. */
const FORKS = 3;
/** Without another turn it is over. Two shims are one machine, whose Node is kept: nobody has to be sure. */
const OVER_AFTER_MS: Record<DoublePhase, number> = { cloned: 60 * 60_000, "two shims": WINDOW_MS };
/** What changes with each turn costs a row this often. */
const NOTED_EVERY_MS = 60_000;
/** An image with a key in it may have been given to many machines: all of them are seen before the first one again. */
const MAX_TURNS = 256;

/** A report that counts. `leaseMs`: a believed process that was not heard of for this long is gone. Else `before` itself. */
export function sight(before: Sightings, sender: Sender, nowMs: number, leaseMs: number): Sightings {
  const known = inForce(before, nowMs);
  const last = known.turns.at(-1);
  const isTurn = last === undefined || !isSame(last, sender);
  const seen = isTurn ? turned(known, sender, nowMs) : known;
  return seen.double?.phase === "two shims" ? heard(seen, seen.double, sender, nowMs, leaseMs) : seen;
}

/**
 * A request that only a second holder of the key can have made: another one of the same ticket and number was there
 * before. Of a machine that was copied while it ran, nothing else differs.
 */
export function sightFork(before: Sightings, sender: Sender, nowMs: number): Sightings {
  const known = inForce(before, nowMs);
  const last = known.turns.at(-1);
  // Of two senders that can be told apart the next report is a turn anyway.
  return last && isSame(last, sender) ? turned(known, sender, nowMs) : known;
}

/** Without what is over. */
export function inForce(known: Sightings, nowMs: number): Sightings {
  const { double } = known;
  if (!double || nowMs - double.lastTurnMs <= OVER_AFTER_MS[double.phase]) return known;
  return { turns: known.turns };
}

export function believes({ double }: Sightings, startId: string): boolean {
  return !double || (double.phase === "two shims" && double.believed === startId);
}

/** What differs from the stored row is worth another one at once, or after a minute. */
export function isWorthARow(stored: Sightings | undefined, seen: Sightings, nowMs: number): boolean {
  const [was, is] = [stored?.double, seen.double];
  if (!was || !is || was.phase !== is.phase || was.believed !== is.believed) return true;
  return nowMs - Math.max(was.lastTurnMs, was.heardMs) >= NOTED_EVERY_MS;
}

/** With each heartbeat: nothing is made for it. */
const isSame = (a: Sender, b: Sender) =>
  a.startId === b.startId && a.bootID === b.bootID && a.machineID === b.machineID;
const machineOf = ({ machineID, bootID }: Sender) => JSON.stringify([machineID, bootID]);
const processOf = (sender: Sender) => machineOf(sender) + sender.startId;

function turned({ turns: before, double }: Sightings, sender: Sender, nowMs: number): Sightings {
  const firstRecent = before.findIndex(({ sinceMs }) => nowMs - sinceMs <= WINDOW_MS);
  const recent = before.slice(firstRecent === -1 ? -1 : Math.max(0, firstRecent - 1));
  const turns = [...recent, { ...sender, sinceMs: nowMs }].slice(-MAX_TURNS);
  const phase = double?.phase === "cloned" ? "cloned" : (phaseOf(turns) ?? double?.phase);
  if (phase === undefined) return { turns };
  if (phase === double?.phase)
    return { turns, double: { ...double, lastTurnMs: nowMs, turns: double.turns + 1 } };
  const first = turns.find((turn, index) => turns.slice(0, index).some((other) => isSame(turn, other)));
  const believed = (first ?? sender).startId;
  return {
    turns,
    double: { phase, sinceMs: nowMs, lastTurnMs: nowMs, turns: turns.length - 1, believed, heardMs: nowMs },
  };
}

function phaseOf(turns: readonly Turn[]): DoublePhase | undefined {
  const forks = turns.filter((turn, index) => index > 0 && isSame(turn, turns[index - 1]!)).length;
  if (forks >= FORKS || returns(turns.map(machineOf)) >= RETURNS) return "cloned";
  return returns(turns.map(processOf)) >= RETURNS ? "two shims" : undefined;
}

function returns(keys: readonly string[]): number {
  const runs = keys.filter((key, index) => key !== keys[index - 1]);
  return runs.length - new Set(runs).size;
}

/** One of two shims speaks for the machine: the one that was there first, until it is gone. */
function heard(
  seen: Sightings,
  double: Double,
  { startId }: Sender,
  nowMs: number,
  leaseMs: number,
): Sightings {
  const isGone = nowMs - double.heardMs > leaseMs + NOTED_EVERY_MS;
  if (startId !== double.believed && !isGone) return seen;
  return { ...seen, double: { ...double, believed: startId, heardMs: nowMs } };
}
