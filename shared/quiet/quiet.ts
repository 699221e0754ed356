// Decides whether vitals are quiet: whether they change neither the Node nor the node object's stored data, so that
// the node object need not receive them. The gateway checks each heartbeat with isQuiet.
import type { ReportedMemory } from "../from-report/reported-status.ts";
import { parsedSettings } from "../from-report/parsed-settings.ts";
import { compareQuantities } from "../kubernetes/quantity/arithmetic.ts";
import { newQuantity, valueOf } from "../kubernetes/quantity/quantity.ts";
import type { Facts } from "../protocol/facts.ts";
import { GATEWAY_LIMITS } from "../protocol/limits.ts";
import { SIGNALS, type Vitals } from "../protocol/report.ts";
import { isCalm, type Threshold, thresholdQuantity } from "../resources/eviction.ts";
import type { CustomSetter } from "../setters/custom.ts";
import { isSameLasting, type LastingVitals } from "./heartbeat-vitals.ts";

type SignalName = (typeof SIGNALS)[number];

/** The range of a signal in which no decision changes: `from` to `to`, both included, with this capacity. */
interface QuietSignal {
  capacity: number;
  from: number;
  to: number;
}

/** The ranges of quiet vitals. The node object decides them after a report, as plain JSON. */
export interface Quiet {
  /** The range of each observed signal. A signal without a range must stay absent. */
  signals: { readonly [Name in SignalName]?: QuietSignal };
  /** The errors, the shutdown and the OOM kills, which must stay equal. */
  same: LastingVitals;
  /** The conditions of drop-ins that must not expire; null if no drop-in has run, and none may run. */
  remaining: readonly string[] | null;
  /** The expired conditions of drop-ins, which must stay expired. */
  expired: readonly string[];
  /** The range of milliseconds by which the machine's clock may be ahead, both included. */
  skewMs: readonly [from: number, to: number];
}

/** The knowledge after a report was applied, from which quietOf decides. */
export interface QuietBasis {
  vitals: Vitals;
  facts: Pick<Facts, "settings" | "machine" | "dropIns">;
  /** The setters' memory after the report. */
  memory: Pick<ReportedMemory, "eviction" | "imageFilesystem" | "shutdown" | "reclaim" | "oom">;
  clock: RecordedClock;
  /** The custom setters, typically `customSetters`. */
  custom: readonly CustomSetter[];
}

/** Returns the ranges of quiet vitals; null if any heartbeat may change something. */
export function quietOf({ vitals, facts, memory, clock, custom }: QuietBasis): Quiet | null {
  // With custom setters no heartbeat is quiet, because a custom setter may decide by the time.
  if (vitals.setupError !== undefined || custom.length > 0) return null;
  if (!isCalm(memory.eviction) || memory.reclaim.resource !== null) return null;
  if (!isRemembered(vitals, facts, memory)) return null;
  const signals = quietSignals(vitals.signals, parsedSettings(facts.settings).thresholds);
  const skewMs = unrecordedSkewMs(clock);
  if (!signals || !skewMs) return null;
  const { errors, shuttingDown, oomKills } = vitals;
  return { signals, same: { errors, shuttingDown, oomKills }, ...quietConditions(vitals, facts), skewMs };
}

/** Returns true if the setters' memory has the report's vitals. Equal vitals then change nothing in it. */
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

/** Returns the quiet range of each signal; null if a threshold is met. */
function quietSignals(signals: Vitals["signals"], thresholds: readonly Threshold[]): Quiet["signals"] | null {
  const quiet: { [Name in SignalName]?: QuietSignal } = {};
  for (const name of SIGNALS) {
    const observed = signals[name];
    if (!observed) continue;
    const [available, capacity] = observed;
    const from = leastUnmet(name, capacity, thresholds);
    if (available < from) return null;
    // The range has no upper end, because thresholds have no upper limit.
    quiet[name] = { capacity, from, to: Number.MAX_SAFE_INTEGER };
  }
  return quiet;
}

const MOST = newQuantity(Number.MAX_SAFE_INTEGER, "DecimalSI");

/** Returns the least whole amount that meets no threshold of the signal; Infinity if no amount can be enough. */
function leastUnmet(name: SignalName, capacity: number, thresholds: readonly Threshold[]): number {
  let least = 0;
  for (const { signal, value } of thresholds) {
    if (signal !== name) continue;
    const limit = thresholdQuantity(value, capacity);
    if (compareQuantities(limit, MOST) > 0) return Infinity;
    // The amount is rounded up: a threshold of 0.5 is met with 0 available, but not with 1.
    least = Math.max(least, Number(valueOf(limit)));
  }
  return least;
}

/** Divides the drop-ins' conditions into remaining and expired ones, as factConditions does. */
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

/** Returns true if the vitals are quiet. `skewMs` is how far the machine's clock is ahead. Allocates nothing. */
export function isQuiet(quiet: Quiet, vitals: Vitals, skewMs: number): boolean {
  return (
    skewMs >= quiet.skewMs[0] &&
    skewMs <= quiet.skewMs[1] &&
    vitals.setupError === undefined &&
    areSignalsQuiet(quiet.signals, vitals.signals) &&
    isSameLasting(quiet.same, vitals) &&
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
  /** Milliseconds until the next periodic write of the status is due. */
  statusDueInMs: number;
  /** Milliseconds between two heartbeats of the machine. */
  intervalMs: number;
}

/** Returns for how many milliseconds after the report heartbeats may be quiet, before a drop-in's condition expires. */
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

/** The skew of a machine's clock, in milliseconds, beyond which it is recorded. */
export const MAX_SKEW_MS = 60_000;

/** The stored record of a machine's clock. */
interface RecordedClock {
  isSkewed: boolean;
  /** The recorded skew in milliseconds; 0 if there was none. */
  skewMs: number;
}

/** Returns true if the skew differs enough to be recorded again, so that a drifting clock causes few writes. */
export function isOtherSkew(skewMs: number, recordedMs: number): boolean {
  return Math.abs(skewMs - recordedMs) > sameWithinMs(recordedMs);
}

const sameWithinMs = (recordedMs: number) => Math.max(MAX_SKEW_MS, Math.abs(recordedMs) / 2);

/** Returns the range of skews, both ends included, that change no record; null if every skew changes it. */
export function unrecordedSkewMs({
  isSkewed,
  skewMs,
}: RecordedClock): readonly [from: number, to: number] | null {
  if (!isSkewed) return [-MAX_SKEW_MS, MAX_SKEW_MS];
  const [from, to] = [skewMs - sameWithinMs(skewMs), skewMs + sameWithinMs(skewMs)];
  if (skewMs > 0) return [Math.max(from, MAX_SKEW_MS + 1), to];
  return skewMs < 0 ? [from, Math.min(to, -MAX_SKEW_MS - 1)] : null;
}
