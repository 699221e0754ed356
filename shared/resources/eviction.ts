// Parses the eviction thresholds of a machine's configuration (eviction.ParseThresholdConfig). Derives pressure
// conditions from eviction signals over time (eviction.Manager's synchronize), but evicts no pods.
import { parseDuration } from "../go/duration.ts";
import { parseFloat32 } from "../go/float.ts";
import { addQuantities, compareQuantities } from "../kubernetes/quantity/arithmetic.ts";
import { type Integer, MIN_INT64 } from "../kubernetes/quantity/integer.ts";
import { parseQuantity } from "../kubernetes/quantity/parse.ts";
import { isZero, newQuantity, type Quantity, signOf } from "../kubernetes/quantity/quantity.ts";
import { quantityText } from "../kubernetes/quantity/text.ts";
import { failure, type Result, success } from "../result.ts";

/** The condition that each signal causes (upstream signalToNodeCondition). */
export const CONDITION_OF_SIGNAL = {
  "memory.available": "MemoryPressure",
  "allocatableMemory.available": "MemoryPressure",
  "nodefs.available": "DiskPressure",
  "nodefs.inodesFree": "DiskPressure",
  "imagefs.available": "DiskPressure",
  "imagefs.inodesFree": "DiskPressure",
  "containerfs.available": "DiskPressure",
  "containerfs.inodesFree": "DiskPressure",
  "pid.available": "PIDPressure",
} as const;

export type Signal = keyof typeof CONDITION_OF_SIGNAL;
export type PressureCondition = (typeof CONDITION_OF_SIGNAL)[Signal];

/** A threshold's value: an amount, or a share of the capacity as a 32-bit float (10 % is 0.10000000149011612). */
export type ThresholdValue =
  { quantity: Quantity; percentage: null } | { quantity: null; percentage: number };

/** An eviction threshold, which is met while less than `value` is available. */
export interface Threshold {
  /** The threshold's ID in stored state. Upstream compares the addresses of its parts instead. */
  id: string;
  signal: Signal;
  value: ThresholdValue;
  /** Milliseconds for which the threshold has to be met before it counts; 0 for a hard threshold. */
  gracePeriodMs: number;
  /** The amount beyond `value` that has to be available before a met threshold ends. */
  minReclaim: ThresholdValue | null;
}

type Statements = Record<string, string> | null;

/** The settings of eviction, each as texts by signal, as in KubeletConfiguration. */
export interface EvictionSettings {
  /** If the list contains "pods", a hard threshold of memory.available also applies to the pods' memory. */
  enforceNodeAllocatable?: readonly string[];
  evictionHard?: Statements;
  evictionSoft?: Statements;
  evictionSoftGracePeriod?: Statements;
  evictionMinimumReclaim?: Statements;
}

/** The default hard thresholds (upstream DefaultEvictionHard for Linux). */
const DEFAULT_EVICTION_HARD = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
};

/** Returns the hard thresholds: configured or default ones. `mergeDefaults` adds the defaults of missing signals. */
export function effectiveEvictionHard(
  evictionHard: Statements,
  mergeDefaults: boolean,
): Record<string, string> {
  if (evictionHard === null) return DEFAULT_EVICTION_HARD;
  return mergeDefaults ? { ...DEFAULT_EVICTION_HARD, ...evictionHard } : evictionHard;
}

/**
 * Returns the hard thresholds, the soft thresholds and the memory threshold of all pods, each sorted by signal (upstream
 * ParseThresholdConfig).
 */
export function parseThresholds(settings: EvictionSettings): Result<Threshold[]> {
  const hard = readThresholds(settings.evictionHard);
  if (!hard.ok) return hard;
  const soft = readThresholds(settings.evictionSoft);
  if (!soft.ok) return soft;
  const gracePeriods = readEach(settings.evictionSoftGracePeriod, readGracePeriod);
  if (!gracePeriods.ok) return gracePeriods;
  const minReclaims = readEach(settings.evictionMinimumReclaim, readMinReclaim);
  if (!minReclaims.ok) return minReclaims;
  const thresholds: Threshold[] = [];
  const add = (source: string, signal: Signal, value: ThresholdValue, gracePeriodMs: number) => {
    const minReclaim = minReclaims.value.get(signal) ?? null;
    thresholds.push(threshold(source, { signal, value, gracePeriodMs, minReclaim }));
  };
  for (const [signal, value] of hard.value) add("hard", signal, value, 0);
  for (const [signal, value] of soft.value) {
    const gracePeriodMs = gracePeriods.value.get(signal);
    if (gracePeriodMs === undefined) {
      return failure(`grace period must be specified for the soft eviction threshold ${signal}`);
    }
    add("soft", signal, value, gracePeriodMs);
  }
  if (!settings.enforceNodeAllocatable?.includes("pods")) return success(thresholds);
  return success([...thresholds, ...copies(thresholds, "memory.available", "allocatableMemory.available")]);
}

function copies(thresholds: readonly Threshold[], from: Signal, to: Signal): Threshold[] {
  return thresholds
    .filter(({ signal, gracePeriodMs }) => signal === from && gracePeriodMs === 0)
    .map((original) => threshold("copied", { ...original, signal: to }));
}

/** Returns the threshold with its ID, which contains every part that upstream compares. */
export function threshold(source: string, parts: Omit<Threshold, "id">): Threshold {
  const { signal, value, gracePeriodMs, minReclaim } = parts;
  const reclaim = minReclaim ? ` + ${valueText(minReclaim)}` : "";
  const origin = value.quantity || minReclaim ? `${source} ` : "";
  return { ...parts, id: `${origin}${signal} < ${valueText(value)}${reclaim} for ${gracePeriodMs} ms` };
}

function valueText(value: ThresholdValue): string {
  return value.quantity ? quantityText(value.quantity) : `${value.percentage * 100} %`;
}

function isSignal(name: string): name is Signal {
  return Object.hasOwn(CONDITION_OF_SIGNAL, name);
}

function readEach<T>(
  statements: Statements | undefined,
  read: (signal: Signal, text: string) => Result<T>,
): Result<Map<Signal, T>> {
  const values = new Map<Signal, T>();
  for (const name of Object.keys(statements ?? {}).sort()) {
    if (!isSignal(name)) return failure(`unsupported eviction signal ${name}`);
    const value = read(name, statements?.[name] ?? "");
    if (!value.ok) return value;
    values.set(name, value.value);
  }
  return success(values);
}

/** Parses thresholds by signal (upstream parseThresholdStatements). 0% and 100% turn a threshold off. */
function readThresholds(statements: Statements | undefined): Result<Map<Signal, ThresholdValue>> {
  const on = Object.entries(statements ?? {}).filter(([name, text]) => !isSignal(name) || !isOff(text));
  return readEach(Object.fromEntries(on), readThreshold);
}

const isOff = (text: string): boolean => text === "0%" || text === "100%";

function readThreshold(signal: Signal, text: string): Result<ThresholdValue> {
  const read = readValue(text);
  if (!read.ok) return read;
  const { quantity, percentage } = read.value;
  if (quantity === null) {
    if (percentage < 0) return failure(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (percentage > 1) return failure(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
  } else if (signOf(quantity) < 0 || isZero(quantity)) {
    return failure(`eviction threshold ${signal} must be positive: ${quantityText(quantity)}`);
  }
  return read;
}

function readMinReclaim(signal: Signal, text: string): Result<ThresholdValue> {
  const read = readValue(text);
  if (!read.ok) return read;
  const { quantity, percentage } = read.value;
  if (quantity === null && percentage <= 0) {
    return failure(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
  }
  if (quantity !== null && signOf(quantity) < 0) {
    return failure(`negative eviction minimum reclaim specified for ${signal}`);
  }
  return read;
}

function readGracePeriod(_signal: Signal, text: string): Result<number> {
  const duration = parseDuration(text);
  if (duration.ok && duration.value < 0)
    return failure(`invalid eviction grace period specified: ${text}, must be a positive value`);
  return duration;
}

/** Parses "10%" or a quantity. */
function readValue(text: string): Result<ThresholdValue> {
  if (text.endsWith("%")) {
    const percent = parseFloat32(text.replace(/%+$/, ""));
    if (!percent.ok) return percent;
    return success({ quantity: null, percentage: Math.fround(percent.value / 100) });
  }
  const quantity = parseQuantity(text);
  return quantity.ok ? success({ quantity: quantity.value, percentage: null }) : quantity;
}

/** Returns the amount of a threshold's value for a capacity in whole units (upstream GetThresholdQuantity). */
export function thresholdQuantity(value: ThresholdValue, capacity: Integer): Quantity {
  if (value.quantity) return value.quantity;
  return newQuantity(int64(Number(capacity) * value.percentage), "BinarySI");
}

/** Converts a number like Go's float64 to int64 (amd64): a number that does not fit becomes the smallest int64. */
function int64(value: number): Integer {
  const whole = Math.trunc(value) + 0;
  if (Number.isSafeInteger(whole)) return whole;
  const fits = value >= -(2 ** 63) && value < 2 ** 63;
  return fits ? BigInt(whole) : MIN_INT64;
}

/** Returns true if thresholds differ at most in their reclaim (upstream compareThresholdValue, hasThreshold). */
export function asksTheSame(a: Threshold, b: Threshold): boolean {
  if (a.signal !== b.signal || a.gracePeriodMs !== b.gracePeriodMs) return false;
  if (a.value.quantity && b.value.quantity)
    return compareQuantities(a.value.quantity, b.value.quantity) === 0;
  return a.value.percentage !== null && a.value.percentage === b.value.percentage;
}

/** The observed signals in bytes, inodes or PIDs, as in a report's vitals. A signal that was not observed is absent. */
export type Observations = {
  readonly [Name in Signal]?: readonly [available: Integer, capacity: Integer] | undefined;
};

/** The state that the caller stores between two calls. Plain JSON; times are in milliseconds since 1970. */
export interface EvictionState {
  /** The pressure conditions that are True. */
  conditions: readonly PressureCondition[];
  /** The time at which a threshold of the condition was last met, within the transition period. */
  lastMetAt: Readonly<Partial<Record<PressureCondition, number>>>;
  /** The time from which on a threshold has been met, by the threshold's ID. */
  firstMetAt: Readonly<Record<string, number>>;
  /** The IDs of the met thresholds whose grace period is over. */
  metThresholds: readonly string[];
}

export const NO_PRESSURE: EvictionState = {
  conditions: [],
  lastMetAt: {},
  firstMetAt: {},
  metThresholds: [],
};

/**
 * Updates the state from new observations (upstream synchronize, without the eviction of pods). A signal that was
 * not observed meets no threshold. A condition is True from the moment a hard or soft threshold is met until
 * `pressureTransitionPeriodMs` after the last such moment. Returns `state` itself if no threshold is met now, and
 * no earlier one still counts.
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
    // An older time never counts again. Its deletion lets the state of a machine without pressure stay the same object.
    if (at === undefined || now - at >= pressureTransitionPeriodMs) continue;
    conditions.push(condition);
    lastMetAt[condition] = at;
  }
  const firstMetAt = Object.fromEntries(met.map(({ id }) => [id, state.firstMetAt[id] ?? now]));
  const overdue = met.filter(({ id, gracePeriodMs }) => now - (firstMetAt[id] ?? now) >= gracePeriodMs);
  return { conditions, lastMetAt, firstMetAt, metThresholds: overdue.map(({ id }) => id) };
}

/** Returns true if the passing of time alone cannot change a condition. */
export function isCalm({ conditions, lastMetAt, firstMetAt, metThresholds }: EvictionState): boolean {
  const areEmpty = Object.keys(lastMetAt).length === 0 && Object.keys(firstMetAt).length === 0;
  return conditions.length === 0 && metThresholds.length === 0 && areEmpty;
}

const CONDITIONS: readonly PressureCondition[] = ["MemoryPressure", "DiskPressure", "PIDPressure"];

/** Returns the thresholds met, and earlier ones not yet reclaimed (upstream thresholdsMet and mergeThresholds). */
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
