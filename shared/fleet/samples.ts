// Samples of a machine's eviction signals over time: thinned with age, and encoded as the bytes that the node object stores.
import type { SIGNALS } from "../protocol/report.ts";

/** The order in which rows store them. Stored rows have this order, so it must not change. */
export const SAMPLED_SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const satisfies readonly (typeof SIGNALS)[number][];
export type SampledSignal = (typeof SAMPLED_SIGNALS)[number];

/** Amounts in the order of SAMPLED_SIGNALS, as 32-bit floats; NaN if not known. */
export type Amounts = readonly number[];

export interface VitalsSample {
  /** Whole seconds since 1970. */
  atS: number;
  /** The least available amounts. */
  available: Amounts;
}

/** The content of one row. */
export interface KeptSamples {
  /** The last reported capacities; null before the first. */
  capacity: Amounts | null;
  /** Newest last. */
  samples: readonly VitalsSample[];
}

export const NO_SAMPLES: KeptSamples = { capacity: null, samples: [] };

/** Most samples of a row, whatever the clock does: more than the ages below allow. */
export const MAX_SAMPLES = 2000;

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
/** One sample is kept for each span of `everyS` while it is younger than `underS`. Older ones are deleted. */
interface SampleAge {
  underS: number;
  everyS: number;
}
const SAMPLE_AGES: readonly SampleAge[] = [
  { underS: HOUR_S, everyS: 60 },
  { underS: DAY_S, everyS: 240 },
  { underS: 7 * DAY_S, everyS: 1200 },
  { underS: 90 * DAY_S, everyS: 7200 },
];

/** Reads a report's signals, [available, capacity] each. */
type ReportedSignals = { readonly [Name in SampledSignal]?: readonly [number, number] | undefined };

export function sampleOf(signals: ReportedSignals, nowMs: number): VitalsSample {
  return { atS: Math.floor(nowMs / 1000), available: amounts(signals, 0) };
}

export function capacityOfSignals(signals: ReportedSignals): Amounts {
  return amounts(signals, 1);
}

/** Merges both, signal by signal. `before` gives what `after` lacks. */
export function capacityAfter(before: Amounts | null, after: Amounts | null): Amounts | null {
  if (!before || !after) return after ?? before;
  return after.map((amount, at) => (Number.isNaN(amount) ? (before[at] ?? Number.NaN) : amount));
}

function amounts(signals: ReportedSignals, part: 0 | 1): Amounts {
  return SAMPLED_SIGNALS.map((name) => Math.fround(signals[name]?.[part] ?? Number.NaN));
}

/**
 * Keeps the least of each signal in each span, at the time of its newest sample, sorted by time. Samples from a clock
 * that was ahead get the present time. Thinning twice changes nothing.
 */
export function thinned(samples: readonly VitalsSample[], nowS: number, ages = SAMPLE_AGES): VitalsSample[] {
  const inOrder = samples
    .map((sample) => (sample.atS > nowS ? { ...sample, atS: nowS } : sample))
    .toSorted((a, b) => a.atS - b.atS);
  const kept: VitalsSample[] = [];
  let [lastEveryS, lastSpan] = [0, 0];
  for (const sample of inOrder) {
    const everyS = ages.find(({ underS }) => nowS - sample.atS < underS)?.everyS;
    if (everyS === undefined) continue;
    const span = Math.floor(sample.atS / everyS);
    const last = everyS === lastEveryS && span === lastSpan ? kept.pop() : undefined;
    kept.push(last ? merged(last, sample) : sample);
    [lastEveryS, lastSpan] = [everyS, span];
  }
  return kept.slice(-MAX_SAMPLES);
}

function merged(a: VitalsSample, { atS, available }: VitalsSample): VitalsSample {
  return { atS, available: available.map((amount, at) => least(a.available[at] ?? Number.NaN, amount)) };
}

function least(a: number, b: number): number {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.min(a, b);
}

/** Merges the samples of both rows, with the newer one's capacity. */
export function joinSamples(older: KeptSamples, newer: KeptSamples, nowS: number): KeptSamples {
  return {
    capacity: capacityAfter(older.capacity, newer.capacity),
    samples: thinned([...older.samples, ...newer.samples], nowS),
  };
}

/** Removes samples until then, which are of another machine with this name; with the last one, also the capacity. */
export function samplesAfter({ capacity, samples }: KeptSamples, sinceMs: number): KeptSamples {
  const own = samples.filter(({ atS }) => atS * 1000 > sinceMs);
  return own.length === 0 ? NO_SAMPLES : { capacity, samples: own };
}

/** Bytes of one sample: u32 seconds, then a float32 for each signal, all little-endian. */
export const SAMPLE_BYTES = 4 * (1 + SAMPLED_SIGNALS.length);

/** Encodes the capacities first, as a sample of the time 0. */
export function encodeSamples({ capacity, samples }: KeptSamples): Uint8Array<ArrayBuffer> {
  const unknown = SAMPLED_SIGNALS.map(() => Number.NaN);
  const rows = [{ atS: 0, available: capacity ?? unknown }, ...samples];
  const bytes = new Uint8Array(rows.length * SAMPLE_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [row, { atS, available }] of rows.entries()) {
    view.setUint32(row * SAMPLE_BYTES, atS, true);
    for (const [at, amount] of available.entries())
      view.setFloat32(row * SAMPLE_BYTES + 4 * (1 + at), amount, true);
  }
  return bytes;
}

export function decodeSamples(bytes: ArrayBuffer | Uint8Array): KeptSamples {
  const view = bytes instanceof Uint8Array ? viewOf(bytes) : new DataView(bytes);
  const rows = Array.from({ length: Math.floor(view.byteLength / SAMPLE_BYTES) }, (_, row): VitalsSample => {
    const begin = row * SAMPLE_BYTES;
    const available = SAMPLED_SIGNALS.map((__, at) => view.getFloat32(begin + 4 * (1 + at), true));
    return { atS: view.getUint32(begin, true), available };
  });
  const [first, ...samples] = rows;
  if (!first) return NO_SAMPLES;
  return { capacity: first.available.every(Number.isNaN) ? null : first.available, samples };
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  new DataView(buffer, byteOffset, byteLength);
