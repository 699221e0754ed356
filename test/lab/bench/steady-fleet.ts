// Measures the requests to the fleet index in a steady hour of 100 machines, and the rows written there. Real:
// workerd, the Worker, the shim's reporter and its signatures, HTTP, the embedded apiserver. Simulated: the clock
// of all of them, and the machines' alarms, which this file rings on time.
import { fileURLToPath } from "node:url";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { Transport } from "../../../node-shim/worker-link/exchange.ts";
import type { Measured } from "../../worker/support/measured-rows.ts";
import type { Benchmark, Progress } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { startCountingKube } from "./counting-kube.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import { once } from "./once.ts";
import { type BenchWorker, enrolledMachine, startBenchWorker } from "./workerd.ts";

const ENTRY = fileURLToPath(new URL("../../worker/support/measured.ts", import.meta.url));
/**
 * The number of machines. Each machine's object decides by itself about its updates, so ten times as many machines
 * send ten times as many.
 */
const MACHINES = 100;
const AT_ONCE = 16;
const BEAT_MS = 10_000;
/**
 * The number of heartbeats that are not measured: enrolments, registrations and their updates of the fleet index
 * happen in them.
 */
const FIRST_BEATS = 12;
const BEATS = 360;

type Beat = (index: number) => Promise<void>;

const cost = once(async (progress: Progress): Promise<Measured["index"]> => {
  let nowMs = Date.UTC(2026, 0, 1);
  const kube = await startCountingKube(() => nowMs);
  const worker = await startBenchWorker(kube, "m-*", {
    entry: ENTRY,
    variables: { MACHINE_REQUESTS: "1000000" },
  });
  const { send: sendNow, close } = httpTransport(worker.url, 60_000);
  const send: Transport = (request) =>
    sendNow({ ...request, headers: { ...request.headers, "x-now-ms": String(nowMs) } });
  const total = { rowsWritten: 0, asked: 0 };
  let isTold = false;
  try {
    const names = Array.from({ length: MACHINES }, (_, index) => `m-${index}`);
    const beats = await eachOf(names, (name) => machineOf(worker, name, send, () => nowMs));
    for (let index = -FIRST_BEATS; index < BEATS; index++, nowMs += BEAT_MS) {
      await eachOf(beats, (beat) => beat(index));
      kube.asked();
      const { index: cost } = await rings(worker, nowMs);
      isTold ||= cost.asked > 0;
      if (index < 0) continue;
      if (!isTold) throw new Error("the index was not told of the machines: nothing is counted");
      total.rowsWritten += cost.rowsWritten;
      total.asked += cost.asked;
      if (index % 10 === 0) progress(`${index} of ${BEATS} beats of ${MACHINES} machines`);
    }
    return total;
  } finally {
    close();
    await worker.stop();
    await kube.stop();
  }
});

async function machineOf(
  worker: BenchWorker,
  name: string,
  send: Transport,
  nowMs: () => number,
): Promise<Beat> {
  const machineTime = () => new Date(nowMs()).toISOString();
  const machine = { name, origin: worker.url, startId: `start of ${name}`, send, machineTime, nowMs };
  const report = reporter({ ...machine, ...(await enrolledMachine(worker, name, send)) });
  const facts = machineFacts();
  return async (index) => {
    const outcome = await report(facts, machineVitals(index + FIRST_BEATS));
    if (!outcome.ok) throw new Error(`a report of ${name} was not taken: ${JSON.stringify(outcome)}`);
    const { phase, ready } = outcome.value;
    if (index >= 0 && !(phase === "registered" && ready)) throw new Error(`${name} is ${phase}`);
  };
}

/** Rings all alarms that are due. Returns the counts since the last call. */
async function rings({ url }: BenchWorker, nowMs: number): Promise<Measured> {
  const answer = await fetch(`${url}/measured/due/all`, { headers: { "x-now-ms": String(nowMs) } });
  return (await answer.json()) as Measured;
}

/** Runs `work` for each item, AT_ONCE items at a time. */
async function eachOf<Item, Outcome>(
  items: readonly Item[],
  work: (item: Item) => Promise<Outcome>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE)
    outcomes.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  return outcomes;
}

export const steadyFleet: Benchmark[] = [
  {
    ...budgetOf("fleet-hour-rows"),
    measure: async (progress) => [{ ours: (await cost(progress)).rowsWritten }],
  },
  {
    ...budgetOf("fleet-hour-requests"),
    measure: async (progress) => [{ ours: (await cost(progress)).asked }],
  },
];
