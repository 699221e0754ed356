// Derives pressure conditions from eviction signals over time (eviction.Manager's synchronize). Evicts nothing.
import {
  asksTheSame,
  CONDITION_OF_SIGNAL,
  type PressureCondition,
  type Signal,
  type Threshold,
  thresholdQuantity,
} from "./eviction-thresholds.ts";
import { addQuantities, compareQuantities } from "../kubernetes/quantity/arithmetic.ts";
import { newQuantity } from "../kubernetes/quantity/quantity.ts";
import type { Integer } from "../kubernetes/quantity/integer.ts";

/** Bytes, inodes or PIDs, as in a report's vitals. A signal that was not observed is absent. */
export type Observations = {
  readonly [Name in Signal]?: readonly [available: Integer, capacity: Integer] | undefined;
};

/** What is kept from one call to the next. It is plain JSON; times are in milliseconds since 1970. */
export interface EvictionState {
  /** The conditions that hold. */
  conditions: readonly PressureCondition[];
  /** When a threshold of the condition was last met, within the transition period. */
  lastMetAt: Readonly<Partial<Record<PressureCondition, number>>>;
  /** Since when a threshold is met, by its ID. */
  firstMetAt: Readonly<Record<string, number>>;
  /** IDs of the thresholds that are met and whose grace period is over. */
  metThresholds: readonly string[];
}

export const NO_PRESSURE: EvictionState = {
  conditions: [],
  lastMetAt: {},
  firstMetAt: {},
  metThresholds: [],
};

/**
 * Upstream synchronize, up to where it would start to evict. A signal that was not observed meets no threshold. A
 * condition holds from the moment a threshold is met, soft ones too, until `pressureTransitionPeriodMs` after none was.
 * Returns `state` itself when nothing is met and nothing counts any more.
 */
export function synchronizeEviction(
  thresholds: readonly Threshold[],
  observations: Observations,
  state: EvictionState,
  now: number,
  pressureTransitionPeriodMs: number,
): EvictionState {
  const met = thresholdsMet(thresholds, observations, state.metThresholds);
  if (met.length === 0 && isCalm(state)) return state;
  const metNow = new Set(met.map(({ signal }) => CONDITION_OF_SIGNAL[signal]));
  const lastMetAt: Partial<Record<PressureCondition, number>> = {};
  const conditions: PressureCondition[] = [];
  for (const condition of CONDITIONS) {
    const at = metNow.has(condition) ? now : state.lastMetAt[condition];
    // An older time never counts again. Without it, the state of a machine without pressure stays the same object.
    if (at === undefined || now - at >= pressureTransitionPeriodMs) continue;
    conditions.push(condition);
    lastMetAt[condition] = at;
  }
  const firstMetAt = Object.fromEntries(met.map(({ id }) => [id, state.firstMetAt[id] ?? now]));
  const overdue = met.filter(({ id, gracePeriodMs }) => now - (firstMetAt[id] ?? now) >= gracePeriodMs);
  return { conditions, lastMetAt, firstMetAt, metThresholds: overdue.map(({ id }) => id) };
}

function isCalm({ conditions, lastMetAt, firstMetAt }: EvictionState): boolean {
  return (
    conditions.length === 0 && Object.keys(lastMetAt).length === 0 && Object.keys(firstMetAt).length === 0
  );
}

const CONDITIONS: readonly PressureCondition[] = ["MemoryPressure", "DiskPressure", "PIDPressure"];

/** Upstream thresholdsMet and mergeThresholds: those met, and those met before and not yet reclaimed. */
function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  metBefore: readonly string[],
): Threshold[] {
  const met = distinct(thresholds.filter((threshold) => isMet(threshold, observations, false)));
  if (metBefore.length === 0) return met;
  for (const threshold of thresholds) {
    if (!metBefore.includes(threshold.id) || met.some((other) => asksTheSame(other, threshold))) continue;
    if (isMet(threshold, observations, true)) met.push(threshold);
  }
  return met;
}

function distinct(thresholds: Threshold[]): Threshold[] {
  if (thresholds.length < 2) return thresholds;
  return thresholds.filter(({ id }, at) => thresholds.findIndex((other) => other.id === id) === at);
}

function isMet(
  { signal, value, minReclaim }: Threshold,
  observations: Observations,
  enforceMinReclaim: boolean,
): boolean {
  const observed = observations[signal];
  if (observed === undefined) return false;
  const [available, capacity] = observed;
  let limit = thresholdQuantity(value, capacity);
  if (enforceMinReclaim && minReclaim) limit = addQuantities(limit, thresholdQuantity(minReclaim, capacity));
  return compareQuantities(limit, newQuantity(available, "DecimalSI")) > 0;
}
