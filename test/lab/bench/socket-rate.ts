// Measures heartbeats over sockets through workerd on loopback: heartbeats per second, and workerd's CPU time. Compares
// them with heartbeats by HTTP to the same Worker, and with a bare gateway. The load is a closed loop: after an answer,
// the same machine or another one sends the next heartbeat.
import { fileURLToPath } from "node:url";
import { startBareSocketLoad } from "./bare-socket-load.ts";
import { startBareWorker } from "./bare-workerd.ts";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { startCountingKube } from "./counting-kube.ts";
import { type LoadRound, renewed, startLoad } from "./heartbeat-load.ts";
import { once } from "./once.ts";
import { startSocketLoad } from "./socket-load.ts";
import { startBenchWorker } from "./workerd.ts";

const ENTRY = fileURLToPath(new URL("../../worker/support/ahead-entry.ts", import.meta.url));
/** The number of rounds that are not measured. After them, workerd has compiled the frequent code. */
const WARM_UP_ROUNDS = 12;
/** The number of measured rounds. Each is short, so that all three Workers meet the same load of the computer. */
const ROUNDS = 31;
/**
 * The number of reports of each machine over HTTP in a round: in total, as many heartbeats as there are sockets.
 */
const REPORTS_EACH = 1;

interface Three<Of> {
  ours: Of;
  http: Of;
  bare: Of;
}

const measured = once(async (progress: Progress): Promise<Three<LoadRound>[]> => {
  const stops: (() => unknown)[] = [];
  const stopped = <Part extends { stop: () => unknown }>(part: Part): Part => {
    stops.push(part.stop);
    return part;
  };
  const kube = async () => stopped(await startCountingKube(Date.now, { shortcut: renewed }));
  try {
    const workers = {
      ours: stopped(await startBenchWorker(await kube(), "m-*", { entry: ENTRY })),
      http: stopped(await startBenchWorker(await kube(), "h-*")),
      bare: stopped(await startBareWorker(await kube())),
    };
    const http = stopped(await startLoad(workers.http, "h", progress));
    const bare = stopped(await startBareSocketLoad(workers.bare));
    // The sockets open last, because a machine without a heartbeat for half a minute is silent.
    const ours = stopped(await startSocketLoad(workers.ours, "m", progress));
    const rounds: Three<LoadRound>[] = [];
    for (let round = 1 - WARM_UP_ROUNDS; round <= ROUNDS; round++) {
      progress(round < 1 ? "warming up" : `round ${round} of ${ROUNDS}`);
      const taken = {
        ours: await ours.round(),
        http: await http.round(REPORTS_EACH),
        bare: await bare.round(),
      };
      if (round >= 1) rounds.push(taken);
    }
    return rounds;
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
});

function row(name: string, what: keyof LoadRound, beside: "http" | "bare"): Benchmark {
  const roundOf = (of: Three<LoadRound>): Round => ({ ours: of.ours[what], yardstick: of[beside][what] });
  return { ...budgetOf(name), measure: async (progress) => (await measured(progress)).map(roundOf) };
}

export const socketRates: readonly Benchmark[] = [
  row("socket-heartbeat-rate", "heartbeatsPerSecond", "http"),
  row("socket-heartbeat-cpu", "cpuMicroseconds", "http"),
  row("socket-heartbeat-bare-cpu", "cpuMicroseconds", "bare"),
];
