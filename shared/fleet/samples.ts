// Thins out and encodes samples of a machine's eviction signals. The node object stores the bytes.
import type { SIGNALS } from "../protocol/report.ts";

/** The signals in the order of a sample's amounts. Stored samples have this order, so the order must not change. */
export const SAMPLED_SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const satisfies readonly (typeof SIGNALS)[number][];
export type SampledSignal = (typeof SAMPLED_SIGNALS)[number];

/** One amount for each of SAMPLED_SIGNALS, as 32-bit floats; NaN if not known. */
export type Amounts = readonly number[];

export interface VitalsSample {
  /** Whole seconds since 1970. */
  atS: number;
  /** The least available amount of each signal in the sample's time span. */
  available: Amounts;
}

/** The decoded content of one stored row. */
export interface KeptSamples {
  /** The last reported capacity of each signal; null until the first report. */
  capacity: Amounts | null;
  /** The samples, newest last. */
  samples: readonly VitalsSample[];
}

export const NO_SAMPLES: KeptSamples = { capacity: null, samples: [] };

/** The largest number of samples in a row, for a clock that jumps. SAMPLE_AGES alone allows fewer. */
export const MAX_SAMPLES = 2000;

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
/** The age up to which one sample per `everyS` seconds is kept. Samples beyond the largest age are deleted. */
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

/** The signals of a report, each as [available, capacity]. */
type ReportedSignals = { readonly [Name in SampledSignal]?: readonly [number, number] | undefined };

export function sampleOf(signals: ReportedSignals, nowMs: number): VitalsSample {
  return { atS: Math.floor(nowMs / 1000), available: amounts(signals, 0) };
}

export function capacityOfSignals(signals: ReportedSignals): Amounts {
  return amounts(signals, 1);
}

/** Returns the capacities of `after`. A capacity that `after` lacks comes from `before`. */
export function capacityAfter(before: Amounts | null, after: Amounts | null): Amounts | null {
  if (!before || !after) return after ?? before;
  return after.map((amount, at) => (Number.isNaN(amount) ? (before[at] ?? Number.NaN) : amount));
}

function amounts(signals: ReportedSignals, part: 0 | 1): Amounts {
  return SAMPLED_SIGNALS.map((name) => Math.fround(signals[name]?.[part] ?? Number.NaN));
}

/**
 * Thins out samples and sorts them by time. Each time span keeps one sample, with the least amount of each signal
 * and the span's last time. A sample from the future gets the present time. Thinning twice changes nothing.
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

/** Merges the samples of two rows. The capacities are those of the newer row. */
export function joinSamples(older: KeptSamples, newer: KeptSamples, nowS: number): KeptSamples {
  return {
    capacity: capacityAfter(older.capacity, newer.capacity),
    samples: thinned([...older.samples, ...newer.samples], nowS),
  };
}

/** Removes samples up to `sinceMs` (an earlier machine's of this name), and the capacity if no sample is left. */
export function samplesAfter({ capacity, samples }: KeptSamples, sinceMs: number): KeptSamples {
  const own = samples.filter(({ atS }) => atS * 1000 > sinceMs);
  return own.length === 0 ? NO_SAMPLES : { capacity, samples: own };
}

/** The bytes of one sample: u32 seconds, then a float32 for each signal, all little-endian. */
export const SAMPLE_BYTES = 4 * (1 + SAMPLED_SIGNALS.length);

/** Encodes a row: the capacities come first, as a sample with the time 0. */
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
