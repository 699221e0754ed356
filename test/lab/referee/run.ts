// Runs rounds in threads, and describes a round in which a face stated what is not true.
import { Worker } from "node:worker_threads";
import type { Drawn, RoundOptions, RoundResult } from "./round.ts";

/** The result of a round, as the thread sends it: a fault is its name. */
export interface RoundReport extends Omit<RoundResult, "drawn"> {
  faults: (Omit<Drawn, "fault"> & { fault: string })[];
}

/** The number of rounds of one thread. Each round leaves a copy of worker/index.ts in the thread's memory. */
const ROUNDS_OF_THREAD = 50;

/** Plays the rounds of these seeds one after another. Calls `onRound` after each. */
export async function runRounds(
  seeds: readonly number[],
  options: Omit<RoundOptions, "seed">,
  onRound: (round: RoundReport) => void,
): Promise<void> {
  for (let from = 0; from < seeds.length; from += ROUNDS_OF_THREAD)
    await runThread(seeds.slice(from, from + ROUNDS_OF_THREAD), options, onRound);
}

async function runThread(...[seeds, options, onRound]: Parameters<typeof runRounds>): Promise<void> {
  const thread = new Worker(new URL("./thread.ts", import.meta.url), {
    workerData: { seeds, options },
    execArgv: ["--disable-warning=DEP0204"],
  });
  thread.on("message", onRound);
  await new Promise<void>((resolve, reject) => {
    thread.once("error", reject);
    thread.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`the thread ended with ${code}`)),
    );
  });
}

/** Describes a round: its fleet, its faults, and each untrue statement. */
export function roundText({ seed, shape, faults, lies }: RoundReport): string {
  const machines = shape.machines.map(
    ({ name, usesSockets, isForPods }) =>
      `${name} (${usesSockets ? "sockets" : "HTTP"}${isForPods ? ", for pods" : ""})`,
  );
  const cluster = `${shape.hasController ? "a" : "no"} node controller, watch ${shape.isWatched ? "on" : "off"}`;
  return [
    `seed ${seed}: ${machines.join(", ")}; ${cluster}`,
    ...faults.map(({ fromS, toS, fault, machine }) => `  from ${fromS} s to ${toS} s: ${fault}, ${machine}`),
    ...lies.map(
      ({ atS, face, about, sentence, truth }) =>
        `  UNTRUE at ${atS} s: ${face} states of ${about || "the fleet"}: ${sentence}; the truth: ${truth}`,
    ),
    "",
  ].join("\n");
}
