// Prepares samples for drawing as lines: their gaps, their scale, and their last amount as a sentence.
import { amountScale, amountText, type AmountUnit, digits } from "../base/amounts.ts";
import type { TimeWindow } from "./timeline-data.ts";

export interface LineSubject {
  signal: string;
  title: string;
  unit: AmountUnit;
  /** The condition that a low amount causes. `pressure` is its name in a sentence. */
  condition: string;
  pressure: string;
}

const MEMORY = { condition: "MemoryPressure", pressure: "memory pressure" };
const DISK = { condition: "DiskPressure", pressure: "disk pressure" };
const PROCESSES = { condition: "PIDPressure", pressure: "PID pressure" };

const SUBJECTS: readonly LineSubject[] = [
  { signal: "memory.available", title: "Memory available", unit: "bytes", ...MEMORY },
  { signal: "nodefs.available", title: "Disk available", unit: "bytes", ...DISK },
  { signal: "nodefs.inodesFree", title: "Inodes free", unit: "count", ...DISK },
  { signal: "imagefs.available", title: "Image disk available", unit: "bytes", ...DISK },
  { signal: "imagefs.inodesFree", title: "Image inodes free", unit: "count", ...DISK },
  { signal: "pid.available", title: "Process IDs available", unit: "count", ...PROCESSES },
];
/** The signals left out if they equal another: images may be on the machine's main file system. */
const SAME_AS: Readonly<Record<string, string>> = {
  "imagefs.available": "nodefs.available",
  "imagefs.inodesFree": "nodefs.inodesFree",
};

type LineValues = readonly (number | null)[];

export function lineSubjects(
  signals: readonly string[],
  values: Readonly<Record<string, LineValues>>,
): LineSubject[] {
  return SUBJECTS.filter(({ signal }) => {
    if (!signals.includes(signal)) return false;
    const same = SAME_AS[signal];
    return same === undefined || !areEqual(values[signal], values[same]);
  });
}

function areEqual(a: LineValues = [], b: LineValues = []): boolean {
  return a.length === b.length && a.every((amount, at) => amount === b[at]);
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** The length of a gap, three missing samples, by the age of samples, which are thinned after a day and a week. */
const GAPS = [
  { underMs: 0.95 * DAY, gapMs: 16 * MINUTE },
  { underMs: 6.9 * DAY, gapMs: 65 * MINUTE },
  { underMs: Infinity, gapMs: 390 * MINUTE },
] as const;

/** The times and amounts to draw. A null ends a line. */
export interface DrawnLine {
  at: number[];
  values: (number | null)[];
  /** The times of single samples between gaps, which are drawn as points. */
  alone: number[];
}

/** Returns a signal's line. The line is interrupted where the machine was silent or samples are missing. */
export function lineOf(
  at: readonly number[],
  values: LineValues,
  { silences, nowMs }: { silences: readonly TimeWindow[]; nowMs: number },
): DrawnLine {
  const line: DrawnLine = { at: [], values: [], alone: [] };
  let before: number | null = null;
  let silence = 0;
  for (const [index, ms] of at.entries()) {
    const value = values[index] ?? null;
    while (silence < silences.length && (silences[silence]?.toMs ?? 0) <= (before ?? ms)) silence += 1;
    const isSilent = before !== null && (silences[silence]?.fromMs ?? Infinity) < ms;
    if (before !== null && ms > before + 1 && (isSilent || ms - before > gapOf(nowMs - before))) {
      line.at.push(before + 1);
      line.values.push(null);
    }
    line.at.push(ms);
    line.values.push(value);
    before = ms;
  }
  line.alone = line.values.flatMap((value, index) =>
    value !== null && (line.values[index - 1] ?? null) === null && (line.values[index + 1] ?? null) === null
      ? [index]
      : [],
  );
  return line;
}

function gapOf(ageMs: number): number {
  return GAPS.find(({ underMs }) => ageMs < underMs)?.gapMs ?? 0;
}

/** Returns the newest known sample, or null if there is none. */
export function lastSample(
  at: readonly number[],
  values: LineValues,
): { atMs: number; amount: number } | null {
  const index = values.findLastIndex((value) => value !== null);
  const amount = values[index];
  const atMs = at[index];
  return amount === undefined || amount === null || atMs === undefined ? null : { atMs, amount };
}

/** Returns the sample nearest to a time, or null if no line is drawn at that time. */
export function sampleNear({ at, values }: DrawnLine, ms: number): { atMs: number; amount: number } | null {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((at[middle] ?? 0) < ms) low = middle + 1;
    else high = middle;
  }
  const near = [low - 1, low]
    .filter((index) => index >= 0 && index < at.length)
    .toSorted((a, b) => Math.abs((at[a] ?? 0) - ms) - Math.abs((at[b] ?? 0) - ms))[0];
  const amount = near === undefined ? null : (values[near] ?? null);
  return near === undefined || amount === null ? null : { atMs: at[near] ?? 0, amount };
}

/** Returns the indexes of at most `most` rows for a table: the first row of each of equally large groups. */
export function thinnedRows(count: number, most: number): number[] {
  const every = Math.max(1, Math.ceil(count / most));
  return Array.from({ length: Math.ceil(count / every) }, (_, row) => row * every);
}

export interface AmountTick {
  amount: number;
  text: string;
}

/** Returns about `wanted` ticks from 0 to `top`, with steps of 1, 2 or 5 times a power of ten, in the unit of `top`. */
export function amountTicks(top: number, unit: AmountUnit, wanted: number): AmountTick[] {
  if (!(top > 0)) return [{ amount: 0, text: "0" }];
  const { factor, word } = amountScale(top, unit);
  const rough = top / factor / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  const count = Math.floor(top / factor / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => {
    const amount = index * step * factor;
    return {
      amount,
      text: index === 0 ? "0" : `${digits(Number((index * step).toPrecision(12)))}${word}`,
    };
  });
}

/** Returns the scale's highest amount: above the line and its thresholds, and at most the whole capacity. */
export function topOf(
  values: readonly (number | null)[],
  { capacity, thresholds }: { capacity: number | null; thresholds: readonly (number | null)[] },
): number {
  let most = 0;
  for (const value of [...thresholds, ...values]) if (value !== null && value > most) most = value;
  const roomy = most * 1.12;
  const top = capacity !== null && capacity >= most ? Math.min(capacity, roomy) : roomy;
  return top > 0 ? top : (capacity ?? 1) || 1;
}

interface KnownAmounts {
  amount: number | null;
  capacity: number | null;
  hard: number | null;
  soft: number | null;
  /** true if the machine is under pressure now, and not only below a threshold whose grace period lasts. */
  isUnder: boolean;
}

/** Returns a sentence like `412 MiB of 31 GiB; memory pressure below 100 MiB (soft: 500 MiB)`. */
export function amountSentence({ unit, pressure }: LineSubject, amounts: KnownAmounts): string {
  const { amount, capacity, hard, soft, isUnder } = amounts;
  const textOf = (value: number) => amountText(value, unit);
  const now = amount === null ? "not known" : textOf(amount);
  const whole = capacity === null ? now : `${now} of ${textOf(capacity)}`;
  const [first, second] = [hard, soft].filter((each) => each !== null);
  const under = isUnder ? `${whole}; under ${pressure}` : whole;
  if (first === undefined) return under;
  const softly = second === undefined ? "" : ` (soft: ${textOf(second)})`;
  return isUnder
    ? `${under}: below ${textOf(first)}${softly}`
    : `${whole}; ${pressure} below ${textOf(first)}${softly}`;
}
