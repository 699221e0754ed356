// Measures heartbeats through workerd on loopback, next to a bare Worker under the same load: heartbeats per
// second, and workerd's CPU time.
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { startBareWorker } from "./bare-workerd.ts";
import { budgetOf } from "./budgets.ts";
import { startCountingKube } from "./counting-kube.ts";
import { type LoadRound, renewed, startLoad } from "./heartbeat-load.ts";
import { once } from "./once.ts";
import { type KubeAddress, type RunningWorker, startBenchWorker } from "./workerd.ts";

/** The number of rounds that are not measured. After them, workerd has compiled the frequent code. */
const WARM_UP_ROUNDS = 12;
/**
 * The number of measured rounds. Each round is short, so that both Workers meet the same load of the computer. A round
 * lasts for some dozens of the kernel's CPU ticks.
 */
const ROUNDS = 31;
const REPORTS_EACH = 1;

export interface HeartbeatRounds {
  rate: Round[];
  cpu: Round[];
}

/** Measures two Workers under the same load, in turns. */
export async function heartbeatsBeside(
  startOurs: (kube: KubeAddress) => Promise<RunningWorker>,
  startYardstick: (kube: KubeAddress) => Promise<RunningWorker>,
  progress: Progress,
): Promise<HeartbeatRounds> {
  const stops: (() => unknown)[] = [];
  const start = async (startWorker: typeof startOurs, prefix: string) => {
    const kube = await startCountingKube(Date.now, { shortcut: renewed });
    stops.push(kube.stop);
    const worker = await startWorker(kube);
    stops.push(worker.stop);
    return async () => {
      const load = await startLoad(worker, prefix, progress);
      stops.push(load.stop);
      for (let round = 0; round < WARM_UP_ROUNDS; round++) await load.round(REPORTS_EACH);
      return load;
    };
  };
  try {
    const [enrolOurs, enrolYardstick] = [await start(startOurs, "m"), await start(startYardstick, "b")];
    const [ours, yardstick] = [await enrolOurs(), await enrolYardstick()];
    const rounds: { ours: LoadRound; yardstick: LoadRound }[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      progress(`round ${round} of ${ROUNDS}`);
      rounds.push({ ours: await ours.round(REPORTS_EACH), yardstick: await yardstick.round(REPORTS_EACH) });
    }
    const roundsOf = (what: keyof LoadRound) =>
      rounds.map(({ ours, yardstick }) => ({ ours: ours[what], yardstick: yardstick[what] }));
    return { rate: roundsOf("heartbeatsPerSecond"), cpu: roundsOf("cpuMicroseconds") };
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

const measured = once((progress: Progress) =>
  heartbeatsBeside((kube) => startBenchWorker(kube, "m-*"), startBareWorker, progress),
);

export const heartbeatRates: Benchmark[] = [
  { ...budgetOf("heartbeat-rate"), measure: async (progress) => (await measured(progress)).rate },
  { ...budgetOf("heartbeat-cpu"), measure: async (progress) => (await measured(progress)).cpu },
];
