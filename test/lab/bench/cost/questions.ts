// Measures what a question to a machine costs: the counts of an hour in which an operator asks the same question again and
// again, less those of the same hour without questions; and workerd's CPU time.
import { afterTimeout } from "../../../../infra/local/apiserver/timer.ts";
import type { WorkerConnection } from "../../../../infra/operator/client.ts";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import { answeringBytes, ask, operatorBy, readAnswer } from "../asking.ts";
import type { Progress } from "../benchmark.ts";
import { startCountingKube } from "../counting-kube.ts";
import { machineFacts, machineVitals } from "../machine.ts";
import { startSocketMachine } from "../socket-machine.ts";
import { type BenchWorker, enrolledMachine, startBenchWorker } from "../workerd.ts";
import type { AskedWish } from "./asked.ts";
import { type HourlyUsage, NOTHING, shareOf, type Used, usageOf } from "./bill.ts";
import { type FleetHours, fleetHours } from "./fleet-hours.ts";
import { httpMachines } from "./http-machines.ts";
import type { CostTransport } from "./transport.ts";

/** What one question costs. `cpuMs`: the CPU time of all of workerd, so that the Worker's own is less. */
export interface QuestionUsage {
  usage: HourlyUsage;
  cpuMs: number;
}

/** The questions: a usual one, for which a machine works a second, and the largest. A bundle needs a socket. */
const ASKED: readonly AskedWish[] = [
  { question: "disks", everyMs: 120_000, worksMs: 1000 },
  { question: "bundle", everyMs: 600_000, worksMs: 10_000 },
];

/** Returns the usage of each question, by its name and transport. `without`: the same hour without questions. */
export async function questionsOver(
  transport: CostTransport,
  without: FleetHours,
  progress: Progress,
): Promise<Record<string, QuestionUsage>> {
  const usages: Record<string, QuestionUsage> = {};
  const { machines, hours } = without;
  for (const asked of ASKED) {
    if (asked.question === "bundle" && transport.gateway === undefined) continue;
    const wish = { transport, machines, hours, facts: machineFacts(), asked };
    const asking = await fleetHours(wish, progress);
    const cpuMs = await cpuOf(asked.question, transport, progress);
    usages[`${asked.question}, ${transport.name}`] = { usage: eachOf(asking, without), cpuMs };
  }
  return usages;
}

/** Returns what the hour with questions costs more, by question. The hours may differ by a heartbeat. */
function eachOf(asking: FleetHours, without: FleetHours): HourlyUsage {
  const [more, less] = [usageOf(asking, false), usageOf(without, false)];
  const each = { ...NOTHING };
  for (const used of Object.keys(NOTHING) as Used[]) {
    const extra = Object.entries(more).map(([kind, usage]) => {
      const times = shareOf(kind) === "deployment" ? 1 : asking.beats / without.beats;
      return usage[used] - times * (less[kind]?.[used] ?? 0);
    });
    const inAll = extra.reduce((sum, count) => sum + count, 0) * asking.hours;
    each[used] = Math.max(0, Number((inAll / asking.answers).toFixed(2)));
  }
  return each;
}

/** An operator may ask one machine ten questions at once. The first half of them warms up. */
const QUESTIONS_EACH = 5;
const MACHINES = 3;

/** Measures workerd's CPU time for one question with its answer, in milliseconds. */
async function cpuOf(question: string, transport: CostTransport, progress: Progress): Promise<number> {
  const kube = await startCountingKube(Date.now);
  const worker = await startBenchWorker(kube, "m-*");
  try {
    const operator = await operatorBy(worker.operator);
    let microseconds = 0;
    for (let index = 0; index < MACHINES; index++) {
      progress(`CPU of ${question}, ${transport.name}: ${index} of ${MACHINES} machines`);
      const start = transport === httpMachines ? startHttp : startSocket;
      const { ask: askIt, stop } = await start(worker, operator, `m-${index}`);
      const some = async () => {
        for (let n = 0; n < QUESTIONS_EACH; n++) await askIt(question);
        return worker.cpuMicroseconds();
      };
      const before = await some();
      microseconds += (await some()) - before;
      stop();
    }
    return microseconds / 1000 / MACHINES / QUESTIONS_EACH;
  } finally {
    await worker.stop();
    await kube.stop();
  }
}

interface AskedMachine {
  ask: (question: string) => Promise<void>;
  stop: () => void;
}

async function startSocket(
  worker: BenchWorker,
  operator: WorkerConnection,
  name: string,
): Promise<AskedMachine> {
  const wish = { name, facts: machineFacts(), nowMs: Date.now, answering: answeringBytes() };
  const { open, report, stop } = await startSocketMachine(worker, wish);
  let dueMs = Date.now() + (await open());
  return {
    async ask(question) {
      await readAnswer(await asked(operator, name, question));
      // Without heartbeats the gateway would close the socket.
      if (Date.now() >= dueMs) dueMs = Date.now() + (await report(machineVitals(0)));
    },
    stop,
  };
}

/** A question to this machine costs a report as well, which the machine would send anyway. */
async function startHttp(
  worker: BenchWorker,
  operator: WorkerConnection,
  name: string,
): Promise<AskedMachine> {
  const { send, close } = httpTransport(worker.url, WITHIN_MS);
  const enrolled = await enrolledMachine(worker, name, send);
  close();
  const clock = { nowMs: Date.now, after: afterTimeout };
  const place = { name, ...enrolled, origin: worker.url, authority: "", facts: machineFacts(), ...clock };
  const { beat, stop } = httpMachines.start({ ...place, answering: answeringBytes() });
  let beats = 0;
  await beat(beats++);
  return {
    async ask(question) {
      const answer = await asked(operator, name, question);
      await beat(beats++);
      await readAnswer(answer);
    },
    stop,
  };
}

const WITHIN_MS = 9000;

async function asked(operator: WorkerConnection, machine: string, question: string) {
  const answer = await ask(operator, machine, question);
  if (typeof answer === "number") throw new Error(`${machine} may be asked in ${answer} s`);
  return answer;
}
