// Measures the cost of heartbeats over 100 minutes, warm and cold: rows by workerd's counters, requests by the
// apiserver's. Real: workerd, the Worker, the shim's reporter and its signatures, HTTP, the embedded apiserver.
// Simulated: the clock of all of them, the alarm, which this file rings on time, and the eviction, which this file
// requests.
import { fileURLToPath } from "node:url";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import { type Transport } from "../../../node-shim/worker-link/exchange.ts";
import type { Measured } from "../../worker/support/measured-rows.ts";
import type { Benchmark, Progress } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { type Asked, startCountingKube } from "./counting-kube.ts";
import { machineFacts, machineVitals, NAME } from "./machine.ts";
import { once } from "./once.ts";
import { enrolledMachine, startBenchWorker } from "./workerd.ts";

const MINUTES = 100;
/** Milliseconds for the registration, which is not measured. */
const FIRST_MS = 60_000;
const ENTRY = fileURLToPath(new URL("../../worker/support/measured.ts", import.meta.url));

interface Cost {
  rowsPerSteady: number;
  rowsReadPerSteady: number;
  requestsPerSteady: number;
  tripsPerSteady: number;
  rowsPerMinute: number;
  requestsPerMinute: number;
  bytesPerMinute: number;
  cpuMicroseconds: number;
}

interface Beat {
  rows: Measured;
  asked: Asked[];
  trips: number;
}

/** The kind of measurement. `warm` and `cold` run without the watch of Nodes; `watched` is warm with the watch. */
type Kind = "warm" | "cold" | "watched";

async function heartbeatCost(kind: Kind, progress: Progress): Promise<Cost> {
  let nowMs = Date.UTC(2026, 0, 1);
  const kube = await startCountingKube(() => nowMs);
  const variables = { MACHINE_REQUESTS: "1000000", NODE_WATCH: kind === "watched" ? "on" : "off" };
  const worker = await startBenchWorker(kube, NAME, { entry: ENTRY, variables });
  const { send: sendNow, close } = httpTransport(worker.url, 9000);
  let trips = 0;
  const send: Transport = (request) => {
    trips++;
    return sendNow({ ...request, headers: { ...request.headers, "x-now-ms": String(nowMs) } });
  };
  const ask = async (what: "ring" | "evict" | "rows"): Promise<Measured> => {
    const headers = { "x-now-ms": String(nowMs) };
    const answer = await fetch(`${worker.url}/measured/${what}/${NAME}`, { headers });
    return (await answer.json()) as Measured;
  };
  try {
    const machineTime = () => new Date(nowMs).toISOString();
    const machine = { name: NAME, origin: worker.url, startId: "start", send, machineTime };
    const report = reporter({ ...machine, ...(await enrolledMachine(worker, NAME, send)) });
    const facts = machineFacts();
    const beats: Beat[] = [];
    const firstMs = nowMs + FIRST_MS;
    const endMs = firstMs + MINUTES * 60_000;
    let cpuBefore = 0;
    let { alarmMs } = await ask("rows");
    for (let index = 0; nowMs < endMs; index++) {
      const isMeasured = nowMs >= firstMs;
      if (isMeasured && beats.length === 0) cpuBefore = worker.cpuMicroseconds();
      if (kind === "cold") await ask("evict");
      await ask("rows");
      kube.asked();
      trips = 0;
      const outcome = await report(facts, machineVitals(index));
      if (!outcome.ok) throw new Error(`a report was not taken: ${JSON.stringify(outcome)}`);
      if (outcome.value.phase !== "registered" || !outcome.value.ready) throw new Error(outcome.value.phase);
      const rows = await ask("rows");
      if (isMeasured) beats.push({ rows, asked: kube.asked(), trips });
      ({ alarmMs } = rows);
      nowMs += outcome.value.reportInMs;
      if (alarmMs !== null && alarmMs <= nowMs) {
        const rung = await ask("ring");
        if (isMeasured) beats.push({ rows: rung, asked: kube.asked(), trips: 0 });
      }
      progress(`${Math.max(0, Math.round((nowMs - firstMs) / 60_000))} of ${MINUTES} minutes`);
    }
    return costOf(beats, worker.cpuMicroseconds() - cpuBefore);
  } finally {
    close();
    await worker.stop();
    await kube.stop();
  }
}

function costOf(beats: Beat[], cpu: number): Cost {
  const heartbeats = beats.filter(({ trips }) => trips > 0);
  // The heartbeats that do not write the whole status; about one in 30 does.
  const steady = heartbeats.filter(({ asked }) => !asked.some(({ verb }) => verb === "PATCH"));
  const sum = (of: Beat[], figure: (beat: Beat) => number) =>
    of.reduce((total, beat) => total + figure(beat), 0);
  const requests = ({ asked }: Beat) => asked.length;
  const bytes = ({ asked }: Beat) => asked.reduce((total, each) => total + each.bytes, 0);
  return {
    rowsPerSteady: sum(steady, ({ rows }) => rows.rowsWritten) / steady.length,
    rowsReadPerSteady: sum(steady, ({ rows }) => rows.rowsRead) / steady.length,
    requestsPerSteady: sum(steady, requests) / steady.length,
    tripsPerSteady: sum(steady, ({ trips }) => trips) / steady.length,
    rowsPerMinute: sum(beats, ({ rows }) => rows.rowsWritten) / MINUTES,
    requestsPerMinute: sum(beats, requests) / MINUTES,
    bytesPerMinute: sum(beats, bytes) / MINUTES,
    cpuMicroseconds: cpu / heartbeats.length,
  };
}

/** The rows of the table, by the ends of their names. */
const ROWS: [name: string, figure: keyof Cost][] = [
  ["rows", "rowsPerSteady"],
  ["rows-read", "rowsReadPerSteady"],
  ["requests", "requestsPerSteady"],
  ["trips", "tripsPerSteady"],
  ["minute-rows", "rowsPerMinute"],
  ["minute-requests", "requestsPerMinute"],
  ["minute-bytes", "bytesPerMinute"],
  ["cpu", "cpuMicroseconds"],
];

function rowsOf(kind: Kind): Benchmark[] {
  const cost = once((progress: Progress) => heartbeatCost(kind, progress));
  return ROWS.map(([name, figure]) => ({
    ...budgetOf(`heartbeat-${kind}-${name}`),
    measure: async (progress) => [{ ours: (await cost(progress))[figure] }],
  }));
}

export const heartbeatCosts: Benchmark[] = [...rowsOf("warm"), ...rowsOf("cold"), ...rowsOf("watched")];
