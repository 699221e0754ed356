// Decides from the latest turns and forks whether several senders report with one key: copies of a machine's disk or
// memory, or two shims on one machine. Acts on nothing.

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
  /** How often the sender has changed or forked since. */
  turns: number;
  /** Of two shims: the startId of the trusted process, whose reports count, and the time of its last report. */
  believed: string;
  heardMs: number;
}

export interface SeenSenders {
  /** The turns of the last ten minutes and the one before them, oldest first. */
  turns: readonly Turn[];
  /** When the latest forks were: one process ran in two places. */
  forks?: readonly number[];
  /** Since when facts that somebody disputes wait, without another sign since. */
  waitingSinceMs?: number;
  /** Absent while only one sender reports. */
  double?: Duplicates;
}

export const NO_SENDERS: SeenSenders = { turns: [] };

/** Boot IDs and startIds are never reused, so a sender that comes back within this time was there all along. */
const WINDOW_MS = 10 * 60_000;
/** This many returns to an earlier sender mean duplicates: A B A B has two. */
const RETURNS = 2;
/**
 * This many senders in that time mean duplicates as well, so that nobody is pushed out of what is remembered. A machine
 * boots in more than ten seconds, and its service waits ten before it starts the shim again.
 */
export const MAX_SENDERS = { machines: 64, processes: 128 } as const;
/** Without a phase there are no more turns than that. */
const MAX_TURNS = MAX_SENDERS.processes + RETURNS;
/** This many forks in this time mean a clone. A machine that is restored from a snapshot causes one by itself. */
const FORKS = 3;
const FORKS_WITHIN_MS = 60 * 60_000;
/** A phase ends this long after the last turn; `two shims` ends sooner, since one machine's Node is at no risk. */
const OVER_AFTER_MS: Record<DuplicatePhase, number> = { cloned: 60 * 60_000, "two shims": WINDOW_MS };
/** Further turns and reports are stored this often at most, because each time costs a row. */
const NOTED_EVERY_MS = 60_000;

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
 * Call it after a fork: a ticket was used that only a second holder of the key can have. Nothing else distinguishes a
 * machine that was copied while it ran from its copy.
 */
export function noteFork(before: SeenSenders, nowMs: number): SeenSenders {
  const { waitingSinceMs: _, ...known } = currentSenders(before, nowMs);
  const forks = [...forksOf(known, nowMs), nowMs].slice(-FORKS);
  const seen = { ...known, forks };
  if (forks.length >= FORKS) return withPhase(seen, "cloned", nowMs);
  return known.double?.phase === "cloned" ? withPhase(seen, "cloned", nowMs) : seen;
}

/** Without `double` where that phase has ended. */
export function currentSenders(known: SeenSenders, nowMs: number): SeenSenders {
  const { double, ...others } = known;
  if (!double || nowMs - double.lastTurnMs <= OVER_AFTER_MS[double.phase]) return known;
  return others;
}

/** Do the reports of this process count? No clone's do. */
export function isTrusted({ double }: SeenSenders, startId: string): boolean {
  return !double || (double.phase === "two shims" && double.believed === startId);
}

/** Is there a first sign of several senders, too weak for a phase? */
export function isDisputed(seen: SeenSenders, nowMs: number): boolean {
  return forksOf(seen, nowMs).length > 0 || returns(recentTurns(seen.turns, nowMs).map(processOf)) > 0;
}

/** Is the sender one that was there before the last one? */
export function hasReturned({ turns }: SeenSenders, nowMs: number): boolean {
  const recent = recentTurns(turns, nowMs);
  const last = recent.at(-1);
  return last !== undefined && recent.slice(0, -1).some((turn) => isSame(turn, last));
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

const forksOf = ({ forks = [] }: SeenSenders, nowMs: number) =>
  forks.filter((atMs) => nowMs - atMs <= FORKS_WITHIN_MS);

function recentTurns(turns: readonly Turn[], nowMs: number): readonly Turn[] {
  const firstRecent = turns.findIndex(({ sinceMs }) => nowMs - sinceMs <= WINDOW_MS);
  return turns.slice(firstRecent === -1 ? -1 : Math.max(0, firstRecent - 1));
}

function turned(before: SeenSenders, sender: Sender, nowMs: number): SeenSenders {
  // Whoever waited is not alone.
  const { waitingSinceMs: _, ...known } = before;
  const turns = [...recentTurns(known.turns, nowMs), { ...sender, sinceMs: nowMs }].slice(-MAX_TURNS);
  const seen = { ...known, turns };
  const is = known.double?.phase;
  const phase = is === "cloned" ? is : (phaseOf(turns) ?? is);
  return phase === undefined ? seen : withPhase(seen, phase, nowMs);
}

/** The phase begins, or it goes on with one more turn. */
function withPhase(seen: SeenSenders, phase: DuplicatePhase, nowMs: number): SeenSenders {
  const { turns, forks = [], double } = seen;
  if (phase === double?.phase)
    return { ...seen, double: { ...double, lastTurnMs: nowMs, turns: double.turns + 1 } };
  const first = turns.find((turn, index) => turns.slice(0, index).some((other) => isSame(turn, other)));
  // Where none has come back, the one that was there before all the others.
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
