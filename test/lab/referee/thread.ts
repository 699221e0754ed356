// Plays rounds in a thread, because the Worker's sources need other globals than Node.js has.
import { parentPort, workerData } from "node:worker_threads";
import { numberOf, randomOf } from "../hostile/random.ts";
import type { RoundOptions } from "./round.ts";
import type { RoundReport } from "./run.ts";
import { becomeWorkerd, loadWorker } from "./worker.ts";

const { seeds, options } = workerData as { seeds: number[]; options: Omit<RoundOptions, "seed"> };

let random = randomOf(0, 0);
becomeWorkerd(() => numberOf(random));
const { playRound } = await import("./round.ts");

for (const seed of seeds) {
  // The Worker draws from numbers of its own, so that a change of the Worker changes no fault.
  random = randomOf(seed, 3);
  const { drawn, ...result } = await playRound(await loadWorker(), { ...options, seed });
  const faults = drawn.map(({ fault, ...each }) => ({ ...each, fault: fault.name }));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage({ ...result, faults } satisfies RoundReport);
}
