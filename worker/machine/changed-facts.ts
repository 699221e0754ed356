// Decides how long facts that would change the Node have to wait, where it is in doubt whose they are: a thief's facts
// must not be believed until its machine speaks again. Pure; what it remembers may be lost in an eviction.
import { hasReturned, isDisputed, type SeenSenders } from "../../shared/node/duplicate-senders.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";

/** The process of the shim whose report was applied last. */
export interface Incumbent {
  startId: string;
  lastMs: number;
  /** The facts that stood before the last ones, or before all that came within a moment. */
  replaced?: { digest: string; atMs: number };
}

interface ChangedFacts {
  startId: string;
  digest: string;
  senders: SeenSenders;
  incumbent: Incumbent | undefined;
  /** See confirmationMs. */
  confirmationMs: number;
  nowMs: number;
}

/** A machine that is alone has reported within this time again, with a tenth for the network. */
export function confirmationMs(timing: Parameters<typeof reportIntervalMs>[0]): number {
  return 1.1 * reportIntervalMs(timing);
}

/**
 * When these facts may be applied, in milliseconds since 1970; undefined: now. Those of a new process wait until the one
 * before it is silent: a machine that has restarted is not there twice. Where the senders are disputed, changed facts
 * wait until nothing has contradicted them for a while.
 */
export function waitsUntilMs(changed: ChangedFacts): number | undefined {
  const { startId, digest, senders, incumbent, nowMs } = changed;
  // It was there before the newcomer whose facts these replace.
  if (hasReturned(senders, nowMs)) return undefined;
  const ofNewcomer = incumbent && incumbent.startId !== startId ? incumbent.lastMs : -Infinity;
  const isInDoubt = isDisputed(senders, nowMs) && !isRestoration(digest, changed);
  const ofDisputed = isInDoubt ? (senders.waitingSinceMs ?? nowMs) : -Infinity;
  const untilMs = Math.max(ofNewcomer, ofDisputed) + changed.confirmationMs;
  return nowMs < untilMs ? untilMs : undefined;
}

/** The machine says again what stood before somebody else's facts. */
function isRestoration(digest: string, { incumbent, confirmationMs: ms, nowMs }: ChangedFacts): boolean {
  const replaced = incumbent?.replaced;
  return replaced?.digest === digest && nowMs - replaced.atMs <= 2 * ms;
}

/** After a report was applied that had other facts than `before` (a digest), or the same. */
export function incumbentAfter(
  known: Incumbent | undefined,
  report: { startId: string; factsDigest: string },
  before: string | undefined,
  { confirmationMs: ms, nowMs }: Pick<ChangedFacts, "confirmationMs" | "nowMs">,
): Incumbent {
  const { startId, factsDigest } = report;
  // A newcomer with the machine's own facts counts at once, and does not take its place before it is silent.
  const isHeld = known !== undefined && known.startId !== startId && nowMs < known.lastMs + ms;
  const now = isHeld ? { startId: known.startId, lastMs: known.lastMs } : { startId, lastMs: nowMs };
  const replaced = known?.replaced;
  const isRecent = replaced !== undefined && nowMs - replaced.atMs <= 2 * ms;
  if (before === undefined || before === factsDigest) return isRecent ? { ...now, replaced } : now;
  if (!isRecent) return { ...now, replaced: { digest: before, atMs: nowMs } };
  return replaced.digest === factsDigest ? now : { ...now, replaced };
}
