// Measures machines from their enrolment until their Nodes are Ready, next to a bare Worker: machines per second,
// and workerd's CPU time. Real: workerd, HTTP, keys and signatures, and the embedded apiserver, the same for both.
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { Transport } from "../../../node-shim/worker-link/exchange.ts";
import { startBareWorker } from "./bare-workerd.ts";
import { budgetOf } from "./budgets.ts";
import { startCountingKube } from "./counting-kube.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import { once } from "./once.ts";
import { enrolledMachine, type RunningWorker, startBenchWorker } from "./workerd.ts";

const AT_ONCE = 16;
const MACHINES_EACH = 64;
const WARM_UP_ROUNDS = 3;
const ROUNDS = 9;
/** The maximum number of reports of a machine. If a registration fails, the next report tries it again. */
const MAX_REPORTS = 20;

type MakeReady = (worker: RunningWorker, name: string, send: Transport) => Promise<void>;

/** Enrols a machine as the shim does. Its first report has the facts, from which the Worker makes a Ready Node. */
async function enrolAndReport(worker: RunningWorker, name: string, send: Transport): Promise<void> {
  const { key, kid, ticket } = await enrolledMachine(worker, name, send);
  const machine = { name, origin: worker.url, key, kid, ticket, startId: name, send };
  const report = reporter({ ...machine, machineTime: () => new Date().toISOString() });
  for (let reports = 0; reports < MAX_REPORTS; reports++) {
    const outcome = await report(machineFacts(), machineVitals(0));
    if (!outcome.ok) throw new Error(`a report of ${name} was ${JSON.stringify(outcome.error)}`);
    if (outcome.value.ready) return;
  }
  throw new Error(`${name} is not Ready after ${MAX_REPORTS} reports`);
}

/** Enrols a machine at the bare Worker, which creates Node and lease at once. */
async function enrolOnly(worker: RunningWorker, name: string, send: Transport): Promise<void> {
  await enrolledMachine(worker, name, send);
}

interface EnrolmentRound {
  machinesPerSecond: number;
  /** The CPU time of workerd, in milliseconds per machine. */
  cpuMs: number;
}

function enrolments(
  worker: RunningWorker,
  prefix: string,
  makeReady: MakeReady,
): { round: () => Promise<EnrolmentRound>; close: () => void } {
  const transports = Array.from({ length: AT_ONCE }, () => httpTransport(worker.url, 9000));
  let next = 0;
  const round = async () => {
    const end = next + MACHINES_EACH;
    const [cpuBefore, startedMs] = [worker.cpuMicroseconds(), performance.now()];
    const work = async ({ send }: { send: Transport }) => {
      while (next < end) await makeReady(worker, `${prefix}-${next++}`, send);
    };
    await Promise.all(transports.map(work));
    const seconds = (performance.now() - startedMs) / 1000;
    const cpuMs = (worker.cpuMicroseconds() - cpuBefore) / 1000 / MACHINES_EACH;
    return { machinesPerSecond: MACHINES_EACH / seconds, cpuMs };
  };
  const close = () => {
    for (const transport of transports) transport.close();
  };
  return { round, close };
}

async function enrolmentsBesideBare(progress: Progress): Promise<{ rate: Round[]; cpu: Round[] }> {
  const kube = await startCountingKube(Date.now);
  const stops: (() => unknown)[] = [kube.stop];
  try {
    const ours = await startBenchWorker(kube, "m-*");
    stops.push(ours.stop);
    const bare = await startBareWorker(kube);
    stops.push(bare.stop);
    const own = enrolments(ours, "m", enrolAndReport);
    const other = enrolments(bare, "b", enrolOnly);
    stops.push(own.close, other.close);
    const rounds: { own: EnrolmentRound; other: EnrolmentRound }[] = [];
    for (let round = 1 - WARM_UP_ROUNDS; round <= ROUNDS; round++) {
      progress(round < 1 ? "warming up" : `round ${round} of ${ROUNDS}`);
      const taken = { own: await own.round(), other: await other.round() };
      if (round >= 1) rounds.push(taken);
    }
    const roundsOf = (what: keyof EnrolmentRound) =>
      rounds.map(({ own, other }) => ({ ours: own[what], yardstick: other[what] }));
    return { rate: roundsOf("machinesPerSecond"), cpu: roundsOf("cpuMs") };
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

const measured = once(enrolmentsBesideBare);

export const enrolmentBenchmarks: Benchmark[] = [
  { ...budgetOf("enrolment-rate"), measure: async (progress) => (await measured(progress)).rate },
  { ...budgetOf("enrolment-cpu"), measure: async (progress) => (await measured(progress)).cpu },
];
