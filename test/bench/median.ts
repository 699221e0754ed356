// How long an operation takes: the median of many runs after a warm-up.
import { Bench } from "tinybench";

/**
 * Microseconds of one `operation`. Each run gets an input of its own, made by `prepare` outside of what is
 * timed, so that nothing can be kept from run to run. `run` counts up from 0.
 */
export async function medianMicroseconds<Input>(
  prepare: (run: number) => Input,
  operation: (input: Input) => unknown,
): Promise<number> {
  const bench = new Bench({ time: 1500, warmupTime: 500, subtractTimerOverhead: true, throws: true });
  let run = 0;
  let input = prepare(run);
  let last: unknown;
  bench.add("operation", () => void (last = operation(input)), {
    async: false,
    beforeEach: () => void (input = prepare(run++)),
  });
  const [task] = await bench.run();
  const result = task?.result;
  if (result?.state !== "completed" || last === undefined) throw new Error("nothing was measured");
  return result.latency.p50 * 1000;
}
