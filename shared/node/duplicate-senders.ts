// Detects that several senders report with one key: copies of a machine's disk or memory, or two shims on one
// machine. A turn is a report of another sender than the last one. A fork shows that one process runs in two
// places.

/** The sender of a report, by the report's own facts. */
export interface Sender {
  machineID: string;
  bootID: string;
  /** The digest of the startId, which is unique for each process of the shim. */
  startId: string;
  /** The network address of the report. Earlier versions stored none. */
  address?: string;
}

interface Turn extends Sender {
  sinceMs: number;
}

export type DuplicatePhase = "cloned" | "two shims";

/** The knowledge about several senders with one key. Field names are those of rows that older versions stored. */
export interface Duplicates {
  phase: DuplicatePhase;
  sinceMs: number;
  lastTurnMs: number;
  /** The number of turns and forks that led to the phase, or happened during it. */
  turns: number;
  /** The startId of the trusted process, whose reports count. `heardMs` is the time of its last report. */
  believed: string;
  heardMs: number;
}

export interface SeenSenders {
  /** The turns within WINDOW_MS and the turn before them, oldest first. */
  turns: readonly Turn[];
  /** The times of the latest forks, in milliseconds since 1970. */
  forks?: readonly number[];
  /** The time from which on new facts of a disputed sender wait for a further sign of duplicates. */
  waitingSinceMs?: number;
  /** The known duplicates; absent while only one sender reports. */
  double?: Duplicates;
}

export const NO_SENDERS: SeenSenders = { turns: [] };

/** The time in which turns are counted. A sender that returns within it has run all the time, since no ID is reused. */
const WINDOW_MS = 10 * 60_000;
/** The number of returns to an earlier sender that proves duplicates. The senders A B A B have two. */
const RETURNS = 2;
/**
 * The number of senders within WINDOW_MS above which duplicates are proven, so that no sender has to be forgotten.
 * One machine cannot have more: a boot takes more than ten seconds, and the service restarts a shim after ten.
 */
export const MAX_SENDERS = { machines: 64, processes: 128 } as const;
/** The number of turns that are kept. Before a phase begins, the turns are never more. */
const MAX_TURNS = MAX_SENDERS.processes + RETURNS;
/** The number of forks within FORKS_WITHIN_MS that proves a clone; a restored snapshot causes one fork. */
const FORKS = 3;
const FORKS_WITHIN_MS = 60 * 60_000;
/** The time from the last turn to the end of a phase. `two shims` ends sooner, since both shims run on one machine. */
const OVER_AFTER_MS: Record<DuplicatePhase, number> = { cloned: 60 * 60_000, "two shims": WINDOW_MS };
/** The shortest time between two writes about further turns and reports, since each write costs a row. */
const NOTED_EVERY_MS = 60_000;

/**
 * Updates the senders after a fresh report. Returns `before` itself if nothing changes. If the trusted process has
 * not reported for `leaseMs` and NOTED_EVERY_MS (its stored time may lag), the sender becomes the trusted one.
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

/** Updates the senders after a fork: a report used a ticket that only a second holder of the key can have. */
export function noteFork(before: SeenSenders, nowMs: number): SeenSenders {
  const { waitingSinceMs: _, ...known } = currentSenders(before, nowMs);
  const forks = [...forksOf(known, nowMs), nowMs].slice(-FORKS);
  const seen = { ...known, forks };
  if (forks.length >= FORKS) return withPhase(seen, "cloned", nowMs);
  return known.double?.phase === "cloned" ? withPhase(seen, "cloned", nowMs) : seen;
}

/** Returns the senders, without `double` if its phase has ended. */
export function currentSenders(known: SeenSenders, nowMs: number): SeenSenders {
  const { double, ...others } = known;
  if (!double || nowMs - double.lastTurnMs <= OVER_AFTER_MS[double.phase]) return known;
  return others;
}

/** Returns the time at which the phase `cloned` ends without a further turn; null if there is no such phase. */
export function cloneEndsMs({ double }: SeenSenders): number | null {
  return double?.phase === "cloned" ? double.lastTurnMs + OVER_AFTER_MS.cloned + 1 : null;
}

/** Returns true if the reports of this process count. No report of a clone counts. */
export function isTrusted({ double }: SeenSenders, startId: string): boolean {
  return !double || (double.phase === "two shims" && double.believed === startId);
}

/** Returns true after a sign of duplicates that is not enough for a phase. */
export function isDisputed(seen: SeenSenders, nowMs: number): boolean {
  return forksOf(seen, nowMs).length > 0 || returns(recentTurns(seen.turns, nowMs).map(processOf)) > 0;
}

/** Returns true if the last sender had already reported before the previous sender. */
export function hasReturned({ turns }: SeenSenders, nowMs: number): boolean {
  const recent = recentTurns(turns, nowMs);
  const last = recent.at(-1);
  return last !== undefined && recent.slice(0, -1).some((turn) => isSame(turn, last));
}

/** Returns true if the senders must be stored: a phase or trusted process at once, a turn after NOTED_EVERY_MS. */
export function isWorthStoring(stored: SeenSenders | undefined, seen: SeenSenders, nowMs: number): boolean {
  const [was, is] = [stored?.double, seen.double];
  if (!was || !is || was.phase !== is.phase || was.believed !== is.believed) return true;
  return nowMs - Math.max(was.lastTurnMs, was.heardMs) >= NOTED_EVERY_MS;
}

/** Returns true if both senders are equal. Allocates nothing, because it runs for each heartbeat. */
const isSame = (a: Sender, b: Sender) =>
  a.startId === b.startId && a.bootID === b.bootID && a.machineID === b.machineID;
const machineOf = ({ machineID, bootID }: Sender) => JSON.stringify([machineID, bootID]);
const processOf = (sender: Sender) => machineOf(sender) + sender.startId;

const forksOf = ({ forks = [] }: SeenSenders, nowMs: number) =>
  forks.filter((atMs) => nowMs - atMs <= FORKS_WITHIN_MS);

function recentTurns(turns: readonly Turn[], nowMs: number): readonly Turn[] {
  const firstRecent = turns.findIndex(({ sinceMs }) => nowMs - sinceMs <= WINDOW_MS);
  return turns.slice(firstRecent === -1 ? -1 : Math.max(0, firstRecent - 1));
}

function turned(before: SeenSenders, sender: Sender, nowMs: number): SeenSenders {
  // The turn is the further sign that waiting facts needed, so they no longer wait.
  const { waitingSinceMs: _, ...known } = before;
  const turns = [...recentTurns(known.turns, nowMs), { ...sender, sinceMs: nowMs }].slice(-MAX_TURNS);
  const seen = { ...known, turns };
  const is = known.double?.phase;
  const phase = is === "cloned" ? is : (phaseOf(turns) ?? is);
  return phase === undefined ? seen : withPhase(seen, phase, nowMs);
}

/** Starts the phase, or adds a turn to the active phase. */
function withPhase(seen: SeenSenders, phase: DuplicatePhase, nowMs: number): SeenSenders {
  const { turns, forks = [], double } = seen;
  if (phase === double?.phase)
    return { ...seen, double: { ...double, lastTurnMs: nowMs, turns: double.turns + 1 } };
  const first = turns.find((turn, index) => turns.slice(0, index).some((other) => isSame(turn, other)));
  // The first sender that has returned is trusted. If no sender has returned, the first of all senders is trusted.
  const believed = (first ?? turns[0])?.startId ?? "";
  const count = Math.max(0, turns.length - 1) + forks.length;
  return {
    ...seen,
    double: { phase, sinceMs: nowMs, lastTurnMs: nowMs, turns: count, believed, heardMs: nowMs },
  };
}

function phaseOf(turns: readonly Turn[]): DuplicatePhase | undefined {
  const [machines, processes] = [turns.map(machineOf), turns.map(processOf)];
  const are = (keys: readonly string[], most: number) =>
    returns(keys) >= RETURNS || new Set(keys).size > most;
  if (are(machines, MAX_SENDERS.machines)) return "cloned";
  return are(processes, MAX_SENDERS.processes) ? "two shims" : undefined;
}

function returns(keys: readonly string[]): number {
  const runs = keys.filter((key, index) => key !== keys[index - 1]);
  return runs.length - new Set(runs).size;
}

/** Updates the trusted one of two shims. The first shim is trusted until it no longer reports. */
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
