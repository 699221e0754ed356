// Runs the recordings of eviction thresholds: their texts, and their results for signals over time.
import { withContainerFsThresholds } from "../upstream/eviction-filesystems.ts";
import { observationsOfSummary, type StatsSummary } from "../upstream/eviction-summary.ts";
import { quantityText } from "../../../shared/kubernetes/quantity/text.ts";
import { newQuantity } from "../../../shared/kubernetes/quantity/quantity.ts";
import {
  asksTheSame,
  type EvictionState,
  NO_PRESSURE,
  type Observations,
  parseThresholds,
  synchronizeEviction,
  type Threshold,
  type ThresholdValue,
} from "../../../shared/resources/eviction.ts";
import type { Family, Json } from "../family.ts";
import { valueOr } from "../../../shared/result.ts";

const printedValue = ({ quantity, percentage }: ThresholdValue): Json => ({
  quantity: quantity && quantityText(quantity),
  percentage: Number.isNaN(percentage) ? "NaN" : percentage,
});

const bySignal = (a: Threshold, b: Threshold): number =>
  a.signal === b.signal ? a.gracePeriodMs - b.gracePeriodMs : a.signal < b.signal ? -1 : 1;

const hardFirst = (a: Threshold, b: Threshold): number =>
  Number(a.gracePeriodMs > 0) - Number(b.gracePeriodMs > 0) || bySignal(a, b);

function parseSettings(given: Json): Json {
  const thresholds = parseThresholds(given);
  if (!thresholds.ok) return { thresholds: null, error: thresholds.error };
  const printed = thresholds.value.sort(hardFirst).map(({ signal, value, gracePeriodMs, minReclaim }) => ({
    signal,
    operator: "LessThan",
    value: printedValue(value),
    gracePeriodMs,
    minReclaim: minReclaim && printedValue(minReclaim),
  }));
  return { error: null, thresholds: printed };
}

/** Reads a recorded stats summary. Its numbers are decimal strings, which become bigints. */
function summaryOf(json: Json): StatsSummary {
  const groups = Object.entries(json).map(([group, stats]: [string, Json]) => {
    const numbers = Object.entries(stats ?? {}).map(([name, text]: [string, Json]) => [
      name,
      text === null ? null : BigInt(text),
    ]);
    return [group, Object.fromEntries(numbers)];
  });
  return Object.fromEntries(groups);
}

function printedObservations(observations: Observations): Json {
  const printed = Object.entries(observations).flatMap(([signal, observed]) => {
    if (!observed) return [];
    const countsThings = signal.endsWith(".inodesFree") || signal === "pid.available";
    const [available, capacity] = observed.map((amount) =>
      quantityText(newQuantity(amount, countsThings ? "DecimalSI" : "BinarySI")),
    );
    return [[signal, { available, capacity }]];
  });
  return Object.fromEntries(printed);
}

function runSteps(given: Json): Json {
  const parsed = parseThresholds(given);
  if (!parsed.ok) return { error: parsed.error };
  const configured = parsed.value;
  const thresholds = withContainerFsThresholds(configured, given.dedicatedImageFs, given.splitContainerFs);
  const first = thresholdsOfFirstPass(configured, thresholds, given);
  // A threshold that only the first pass has stays active while it is met.
  const replaced = first.filter((old) => !thresholds.some(({ id }) => id === old.id));
  const others = replaced.filter((old) => !thresholds.some((current) => asksTheSame(current, old)));
  let state: EvictionState = NO_PRESSURE;
  let now = 0;
  const steps = given.steps.map(({ advanceMs, summary }: Json, at: number) => {
    now += advanceMs;
    const observations = summary === null ? {} : observationsOfSummary(summaryOf(summary));
    const isMet = ({ id }: Threshold) => state.metThresholds.includes(id);
    if (summary !== null) {
      const inForce = at === 0 ? first : [...thresholds, ...others.filter(isMet)];
      state = synchronizeEviction(inForce, observations, state, now, given.pressureTransitionPeriodMs);
    }
    const byId = new Map([...thresholds, ...replaced].map((known) => [known.id, known]));
    const met = [...byId.values()].filter(isMet).sort(bySignal);
    return {
      observations: printedObservations(observations),
      nodeConditions: [...state.conditions].sort(),
      memoryPressure: state.conditions.includes("MemoryPressure"),
      diskPressure: state.conditions.includes("DiskPressure"),
      pidPressure: state.conditions.includes("PIDPressure"),
      thresholdsMet: met.map(({ signal, gracePeriodMs }) => [signal, gracePeriodMs]),
    };
  });
  return { steps };
}

/**
 * Returns the thresholds of the kubelet's first pass, which are the configured ones: it adds those for containerfs
 * later. A replaced threshold still counts, unless Go has moved the list to a larger array by then.
 */
function thresholdsOfFirstPass(
  configured: readonly Threshold[],
  all: readonly Threshold[],
  given: Json,
): Threshold[] {
  if (given.splitContainerFs && !given.dedicatedImageFs) return [...configured];
  const seen: (Threshold | undefined)[] = [...configured];
  let room = placesInGo(configured, given) - configured.length;
  for (const signal of ["containerfs.available", "containerfs.inodesFree"]) {
    for (const soft of [false, true]) {
      const same = (threshold: Threshold) =>
        threshold.signal === signal && threshold.gracePeriodMs > 0 === soft;
      const at = configured.findLastIndex(same);
      if (at < 0) room--;
      else if (room >= 0) seen[at] = all.find((copy) => same(copy) && !configured.includes(copy));
    }
  }
  return seen.filter((threshold) => threshold !== undefined);
}

/** Returns the capacity of Go's array, from the order in which ParseThresholdConfig appends. */
function placesInGo(configured: readonly Threshold[], given: Json): number {
  const hard = valueOr(parseThresholds({ evictionHard: given.evictionHard }), []).length;
  const copied = given.enforceNodeAllocatable.includes("pods") ? copies(configured) : 0;
  const length = configured.length - copied;
  const places = appended(appended(0, 0, hard), hard, length - hard);
  if (!given.enforceNodeAllocatable.includes("pods")) return places;
  return appended(appended(0, 0, length), length, copied);
}

const copies = (thresholds: readonly Threshold[]): number =>
  thresholds.filter(({ signal, gracePeriodMs }) => signal === "memory.available" && gracePeriodMs === 0)
    .length;

/**
 * Returns the capacity of a Go array after an append: at least doubled, and rounded up to a size of Go's allocator.
 */
function appended(places: number, length: number, added: number): number {
  if (length + added <= places) return places;
  const bytes = Math.max(length + added, 2 * places) * 64;
  if (bytes <= 512) return bytes / 64;
  const sizes = [640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072];
  return Math.floor(((sizes.find((size) => size >= bytes + 8) ?? bytes + 8) - 8) / 64);
}

const operations: Record<string, (given: Json) => Json> = { parse: parseSettings, sequence: runSteps };

export const evictions: Family = {
  run: (given) => operations[given.op]?.(given),
};
