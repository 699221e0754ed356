// How long an operation takes beside another, in turns of small batches: a busy machine interrupts either as often.
import type { Round } from "./benchmark.ts";
import { median } from "./rounds.ts";

/** Short beside the time for which a busy machine takes a core away, long beside the clock's resolution. */
const BATCH_MS = 0.4;
const PAIRS = 100;
const ROUNDS = 15;
/** Of CPU: on a busy machine time passes in which nothing is compiled. */
const WARM_UP_MS = 2500;

/**
 * Each run gets an input of its own, made by `prepare` outside of what is timed, so that nothing can be kept from run to
 * run; `run` counts up from 0.
 */
export interface Operation<Input> {
  prepare: (run: number) => Input;
  operate: (input: Input) => unknown;
}

/** In microseconds of one operation. */
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

/** Warm, and of the size that takes BATCH_MS: each call runs one, and yields the microseconds of one operation. */
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
