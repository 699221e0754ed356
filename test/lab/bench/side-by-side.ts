// Measures the duration of an operation next to another, in turns of small batches: a busy computer interrupts both
// equally.
import type { Round } from "./benchmark.ts";
import { median } from "./rounds.ts";

/**
 * Milliseconds per batch: short compared with the time for which a busy computer takes a core away, long compared
 * with the clock's resolution.
 */
const BATCH_MS = 0.4;
const PAIRS = 100;
const ROUNDS = 15;
/** Milliseconds of CPU time for the warm-up. In real time, a busy computer might compile nothing. */
const WARM_UP_MS = 2500;

/**
 * A measured operation. Each run gets an input of its own from `prepare`, outside of the measured time, so that no
 * result can be reused; `run` counts up from 0.
 */
export interface Operation<Input> {
  prepare: (run: number) => Input;
  operate: (input: Input) => unknown;
}

/** Measures both operations in turns, in microseconds per operation. */
export function sideBySide<Input, Other>(ours: Operation<Input>, yardstick: Operation<Other>): Round[] {
  const [ownBatch, otherBatch] = [batches(ours), batches(yardstick)];
  return Array.from({ length: ROUNDS }, () => {
    const pairs = Array.from({ length: PAIRS }, () => [ownBatch(), otherBatch()] as const);
    return {
      ours: median(pairs.map(([own]) => own)),
      yardstick: median(pairs.map(([, other]) => other)),
      ratio: median(pairs.map(([own, other]) => own / other)),
    };
  });
}

/**
 * Warms up an operation, and finds the batch size that takes BATCH_MS. Returns a function that runs a batch, and
 * returns the microseconds of one operation.
 */
function batches<Input>({ prepare, operate }: Operation<Input>): () => number {
  let run = 0;
  let last: unknown;
  const batch = (size: number) => {
    const inputs = Array.from({ length: size }, () => prepare(run++));
    const startMs = performance.now();
    for (const input of inputs) last = operate(input);
    const microseconds = ((performance.now() - startMs) * 1000) / size;
    if (last === undefined) throw new Error("nothing was measured");
    return microseconds;
  };
  const warm: number[] = [];
  const before = process.cpuUsage();
  while (cpuMsSince(before) < WARM_UP_MS) warm.push(batch(16));
  const size = Math.max(1, Math.round((BATCH_MS * 1000) / median(warm.slice(-50))));
  return () => batch(size);
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
