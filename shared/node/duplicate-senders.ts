// Decides from the latest turns whether several senders report with one key: copies of a machine's disk, or two shims
// on one machine. Acts on nothing.

/** Who sent a report, as the report itself says. */
export interface Sender {
  machineID: string;
  bootID: string;
  /** Digest of the startId: one for each process of the shim. */
  startId: string;
}

interface Turn extends Sender {
  sinceMs: number;
}

export type DuplicatePhase = "cloned" | "two shims";

/** Several senders with one key. Field names are those of rows that older versions stored. */
export interface Duplicates {
  phase: DuplicatePhase;
  sinceMs: number;
  lastTurnMs: number;
  /** How often the sender has changed since. */
  turns: number;
  /** Of two shims: the startId of the trusted process, whose reports count, and the time of its last report. */
  believed: string;
  heardMs: number;
}

export interface SeenSenders {
  /**
   * The turns of the last ten minutes and the one before them, oldest first. The same sender twice in a row marks a
   * fork: one process runs in two places.
   */
  turns: readonly Turn[];
  /** Absent while only one sender reports. */
  double?: Duplicates;
}

export const NO_SENDERS: SeenSenders = { turns: [] };

/** Boot IDs and startIds are never reused, so a sender that comes back within this time was there all along. */
const WINDOW_MS = 10 * 60_000;
/** This many returns to an earlier sender mean duplicates: A B A B has two. */
const RETURNS = 2;
/** This many forks mean a clone. A machine that is restored from a snapshot may send one fork by itself. */
const FORKS = 3;
/** A phase ends this long after the last turn; `two shims` ends sooner, since one machine's Node is at no risk. */
const OVER_AFTER_MS: Record<DuplicatePhase, number> = { cloned: 60 * 60_000, "two shims": WINDOW_MS };
/** Further turns and reports are stored this often at most, because each time costs a row. */
const NOTED_EVERY_MS = 60_000;
/** An image with a key in it may run on many machines, all of which report before the first one does again. */
const MAX_TURNS = 256;

/**
 * Call it after each fresh report. Returns `before` itself where nothing changes. A trusted process that has not
 * reported for `leaseMs`, and the minute that its stored time may lag, is gone: the next one is trusted.
 */
export function noteSender(before: SeenSenders, sender: Sender, nowMs: number, leaseMs: number): SeenSenders {
  const known = currentSenders(before, nowMs);
  const last = known.turns.at(-1);
  const isTurn = last === undefined || !isSame(last, sender);
  const seen = isTurn ? turned(known, sender, nowMs) : known;
  return seen.double?.phase === "two shims"
    ? withTrustedSender(seen, seen.double, sender, nowMs, leaseMs)
    : seen;
}

/**
 * Call it after a fork: a request with ticket and n of an earlier one, which only a second holder of the key can have
 * signed. Nothing else distinguishes a machine that was copied while it ran from its copy.
 */
export function noteForkedRequest(before: SeenSenders, sender: Sender, nowMs: number): SeenSenders {
  const known = currentSenders(before, nowMs);
  const last = known.turns.at(-1);
  // A different sender needs no mark: its next report is a turn.
  return last && isSame(last, sender) ? turned(known, sender, nowMs) : known;
}

/** Without `double` where that phase has ended. */
export function currentSenders(known: SeenSenders, nowMs: number): SeenSenders {
  const { double } = known;
  if (!double || nowMs - double.lastTurnMs <= OVER_AFTER_MS[double.phase]) return known;
  return { turns: known.turns };
}

/** Do the reports of this process count? No clone's do. */
export function isTrusted({ double }: SeenSenders, startId: string): boolean {
  return !double || (double.phase === "two shims" && double.believed === startId);
}

/** Another phase or another trusted process is stored at once, a further turn after a minute. */
export function isWorthStoring(stored: SeenSenders | undefined, seen: SeenSenders, nowMs: number): boolean {
  const [was, is] = [stored?.double, seen.double];
  if (!was || !is || was.phase !== is.phase || was.believed !== is.believed) return true;
  return nowMs - Math.max(was.lastTurnMs, was.heardMs) >= NOTED_EVERY_MS;
}

/** Called with each heartbeat, so it allocates nothing. */
const isSame = (a: Sender, b: Sender) =>
  a.startId === b.startId && a.bootID === b.bootID && a.machineID === b.machineID;
const machineOf = ({ machineID, bootID }: Sender) => JSON.stringify([machineID, bootID]);
const processOf = (sender: Sender) => machineOf(sender) + sender.startId;

function turned({ turns: before, double }: SeenSenders, sender: Sender, nowMs: number): SeenSenders {
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

function phaseOf(turns: readonly Turn[]): DuplicatePhase | undefined {
  const forks = turns.filter((turn, index) => index > 0 && isSame(turn, turns[index - 1]!)).length;
  if (forks >= FORKS || returns(turns.map(machineOf)) >= RETURNS) return "cloned";
  return returns(turns.map(processOf)) >= RETURNS ? "two shims" : undefined;
}

function returns(keys: readonly string[]): number {
  const runs = keys.filter((key, index) => key !== keys[index - 1]);
  return runs.length - new Set(runs).size;
}

/** The first of two shims is trusted until it is gone. */
function withTrustedSender(
  seen: SeenSenders,
  double: Duplicates,
  { startId }: Sender,
  nowMs: number,
  leaseMs: number,
): SeenSenders {
  const isGone = nowMs - double.heardMs > leaseMs + NOTED_EVERY_MS;
  if (startId !== double.believed && !isGone) return seen;
  return { ...seen, double: { ...double, believed: startId, heardMs: nowMs } };
}
