// Which vitals are quiet: the machine's object need not see them, since its Node and all that it stores stay the same
// without them. Pure; the gateway asks for each heartbeat.
import type { ReportedMemory } from "../from-report/reported-status.ts";
import { settingsInForce } from "../from-report/settings-in-force.ts";
import { compareQuantities } from "../kubernetes/quantity/arithmetic.ts";
import { newQuantity, valueOf } from "../kubernetes/quantity/quantity.ts";
import type { Facts } from "../protocol/facts.ts";
import { GATEWAY_LIMITS } from "../protocol/limits.ts";
import { SIGNALS, type Vitals } from "../protocol/report.ts";
import { type EvictionState, type Threshold, thresholdQuantity } from "../resources/eviction.ts";
import type { CustomSetter } from "../setters/custom.ts";
import { isSameStanding, type StandingVitals } from "./heartbeat-vitals.ts";

type SignalName = (typeof SIGNALS)[number];

/** Of a signal: its capacity, and between which amounts no decision changes, both included. */
interface QuietSignal {
  capacity: number;
  from: number;
  to: number;
}

/** What is quiet, as the machine's object has decided it after a report. Plain JSON. */
export interface Quiet {
  /** Of those that were observed. The others must stay absent. */
  signals: { readonly [Name in SignalName]?: QuietSignal };
  /** As they were: errors, shutdown, OOM kills. */
  same: StandingVitals;
  /** The drop-ins' conditions that have not expired, and must not; null: no drop-in has run, and none must. */
  remaining: readonly string[] | null;
  /** Those that have expired, and must stay so. */
  expired: readonly string[];
  /** How far the machine's clock may be off, in milliseconds, both included. */
  skewMs: readonly [from: number, to: number];
}

/** What is known after a report was applied. */
export interface QuietBasis {
  /** That report's. */
  vitals: Vitals;
  /** In force. */
  facts: Pick<Facts, "settings" | "machine" | "dropIns">;
  /** What the setters remember after it. */
  memory: Pick<ReportedMemory, "eviction" | "imageFilesystem" | "shutdown" | "reclaim" | "oom">;
  clock: RecordedClock;
  /** Typically `customSetters`. */
  custom: readonly CustomSetter[];
}

/** null: each heartbeat may change something. */
export function quietOf({ vitals, facts, memory, clock, custom }: QuietBasis): Quiet | null {
  // A custom setter is given the time, and may decide by it.
  if (vitals.setupError !== undefined || custom.length > 0) return null;
  if (!isCalm(memory.eviction) || memory.reclaim.resource !== null) return null;
  if (!isRemembered(vitals, facts, memory)) return null;
  const signals = quietSignals(vitals.signals, settingsInForce(facts.settings).thresholds);
  const skewMs = unrecordedSkewMs(clock);
  if (!signals || !skewMs) return null;
  const { errors, shuttingDown, oomKills } = vitals;
  return { signals, same: { errors, shuttingDown, oomKills }, ...quietConditions(vitals, facts), skewMs };
}

/** Else time alone may change something. */
function isCalm({ conditions, lastMetAt, firstMetAt, metThresholds }: EvictionState): boolean {
  return (
    conditions.length === 0 &&
    metThresholds.length === 0 &&
    Object.keys(lastMetAt).length === 0 &&
    Object.keys(firstMetAt).length === 0
  );
}

/** Has the report's tick run the setters? What they remember then is what the same vitals would make them remember. */
function isRemembered(
  { signals, oomKills, shuttingDown = false }: Vitals,
  { machine }: QuietBasis["facts"],
  { imageFilesystem, shutdown, oom }: QuietBasis["memory"],
): boolean {
  const [, imageBytes] = signals["imagefs.available"] ?? [];
  const isCounted = oomKills !== undefined && machine !== undefined;
  return (
    shutdown.isShuttingDown === shuttingDown &&
    (imageBytes === undefined || imageFilesystem.hasNoCapacity === (imageBytes === 0)) &&
    (!isCounted || (oom.kills === oomKills && oom.bootID === machine.bootID))
  );
}

/** null: a threshold is met. */
function quietSignals(signals: Vitals["signals"], thresholds: readonly Threshold[]): Quiet["signals"] | null {
  const quiet: { [Name in SignalName]?: QuietSignal } = {};
  for (const name of SIGNALS) {
    const observed = signals[name];
    if (!observed) continue;
    const [available, capacity] = observed;
    const from = leastUnmet(name, capacity, thresholds);
    if (available < from) return null;
    // No threshold looks for too much.
    quiet[name] = { capacity, from, to: Number.MAX_SAFE_INTEGER };
  }
  return quiet;
}

const MOST = newQuantity(Number.MAX_SAFE_INTEGER, "DecimalSI");

/** The least whole amount with which none of the signal's thresholds is met; Infinity: no reported one is enough. */
function leastUnmet(name: SignalName, capacity: number, thresholds: readonly Threshold[]): number {
  let least = 0;
  for (const { signal, value } of thresholds) {
    if (signal !== name) continue;
    const limit = thresholdQuantity(value, capacity);
    if (compareQuantities(limit, MOST) > 0) return Infinity;
    // Rounded up, as a threshold of 0.5 is met with 0 available and not with 1.
    least = Math.max(least, Number(valueOf(limit)));
  }
  return least;
}

/** As factConditions takes them. */
function quietConditions(
  { remainingSeconds }: Vitals,
  { dropIns }: QuietBasis["facts"],
): Pick<Quiet, "remaining" | "expired"> {
  if (!remainingSeconds) return { remaining: null, expired: [] };
  const types = (dropIns?.conditions ?? []).map(({ type }) => type);
  const isLeft = (type: string) => isAhead(remainingSeconds, type);
  return { remaining: types.filter(isLeft), expired: types.filter((type) => !isLeft(type)) };
}

const isAhead = (remaining: NonNullable<Vitals["remainingSeconds"]>, type: string) =>
  (remaining[type] ?? 0) > 0;

/** `skewMs`: how far the machine's clock is ahead. Each heartbeat of a gateway needs it, so it allocates nothing. */
export function isQuiet(quiet: Quiet, vitals: Vitals, skewMs: number): boolean {
  return (
    skewMs >= quiet.skewMs[0] &&
    skewMs <= quiet.skewMs[1] &&
    vitals.setupError === undefined &&
    areSignalsQuiet(quiet.signals, vitals.signals) &&
    isSameStanding(quiet.same, vitals) &&
    areConditionsQuiet(quiet, vitals.remainingSeconds)
  );
}

function areSignalsQuiet(quiet: Quiet["signals"], signals: Vitals["signals"]): boolean {
  for (const name of SIGNALS) {
    const within = quiet[name];
    const observed = signals[name];
    if (within === undefined && observed === undefined) continue;
    if (within === undefined || observed === undefined) return false;
    const available = observed[0];
    if (observed[1] !== within.capacity || !(available >= within.from && available <= within.to))
      return false;
  }
  return true;
}

function areConditionsQuiet(quiet: Quiet, left: Vitals["remainingSeconds"]): boolean {
  if (quiet.remaining === null || left === undefined) return quiet.remaining === null && left === undefined;
  for (const type of quiet.remaining) if (!isAhead(left, type)) return false;
  for (const type of quiet.expired) if (isAhead(left, type)) return false;
  return true;
}

interface QuietTime {
  /** Until the status is to be written. */
  statusDueInMs: number;
  /** Of the machine's heartbeats. */
  intervalMs: number;
}

/**
 * For how long, from the report with these vitals on, heartbeats may be quiet: whole milliseconds, and over once they have
 * passed. A drop-in's condition that is not said again would expire at the heartbeat after. 0: not at all.
 */
export function quietForMs(
  { remaining }: Quiet,
  { remainingSeconds = {} }: Vitals,
  { statusDueInMs, intervalMs }: QuietTime,
): number {
  let forMs = Math.min(1000 * GATEWAY_LIMITS.quietSeconds, statusDueInMs);
  for (const type of remaining ?? [])
    forMs = Math.min(forMs, 1000 * (remainingSeconds[type] ?? 0) - intervalMs);
  return Math.max(0, Math.floor(forMs));
}

// When it is recorded that a machine's clock is off, and within which range that record stays as it is.

/** A clock that is off by more than this is recorded. */
export const MAX_SKEW_MS = 60_000;

/** What is recorded of a machine's clock. */
interface RecordedClock {
  isSkewed: boolean;
  /** By how much it was off when that was recorded; 0: it was not. */
  skewMs: number;
}

/** One that drifts is recorded anew when that is another matter, so that it costs a few rows at most. */
export function isOtherSkew(skewMs: number, recordedMs: number): boolean {
  return Math.abs(skewMs - recordedMs) > sameWithinMs(recordedMs);
}

const sameWithinMs = (recordedMs: number) => Math.max(MAX_SKEW_MS, Math.abs(recordedMs) / 2);

/** Between which whole milliseconds, both included, nothing more is recorded; null: whatever it is, something is. */
export function unrecordedSkewMs({
  isSkewed,
  skewMs,
}: RecordedClock): readonly [from: number, to: number] | null {
  if (!isSkewed) return [-MAX_SKEW_MS, MAX_SKEW_MS];
  const [from, to] = [skewMs - sameWithinMs(skewMs), skewMs + sameWithinMs(skewMs)];
  if (skewMs > 0) return [Math.max(from, MAX_SKEW_MS + 1), to];
  return skewMs < 0 ? [from, Math.min(to, -MAX_SKEW_MS - 1)] : null;
}
