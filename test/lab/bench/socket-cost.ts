// Measures the cost of heartbeats over sockets in an hour of 100 machines: rows by workerd's counters, requests by
// the apiserver's, bytes by a relay. Real: workerd, the Worker, the shim's link and its signatures, TCP, the
// embedded apiserver. Simulated: the clock of all of them, alarms, which this file rings on time, and cron.
import { fileURLToPath } from "node:url";
import type { Measured } from "../../worker/support/measured-rows.ts";
import type { Benchmark, Progress } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { steppedTime } from "./cost/stepped-time.ts";
import { startCountingKube } from "./counting-kube.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import { once } from "./once.ts";
import { startRelay } from "./relay.ts";
import { someAtOnce } from "./some-at-once.ts";
import { startSocketMachine } from "./socket-machine.ts";
import { startBenchWorker } from "./workerd.ts";

const ENTRY = fileURLToPath(new URL("../../worker/support/measured.ts", import.meta.url));
const MACHINES = 100;
const AT_ONCE = 16;
const BEAT_MS = 9600;
const MINUTE_MS = 60_000;
const MINUTES = 60;
/** Milliseconds for the registrations, which are not measured. */
const FIRST_MS = 6 * MINUTE_MS;

interface SocketCost {
  /** The number of rows per heartbeat that needs no report. */
  rows: number;
  requests: number;
  messages: number;
  nodeRequests: number;
  bytes: number;
  /** The number of rows of a machine per minute, for heartbeats, reports, alarms and all other events. */
  rowsPerMinute: number;
}

type Steady = Pick<Measured, "rowsWritten" | "messages" | "nodeRequests"> & {
  requests: number;
  bytes: number;
};

const cost = once(async (progress: Progress): Promise<SocketCost> => {
  const startMs = Date.UTC(2026, 0, 1, 12);
  const time = steppedTime(startMs);
  const { nowMs } = time;
  const relay = await startRelay();
  const kube = await startCountingKube(nowMs);
  const variables = { MACHINE_REQUESTS: "1000000", NODE_WATCH: "off", ORIGINS: relay.url };
  const worker = await startBenchWorker(kube, "m-*", { entry: ENTRY, variables });
  relay.leadTo(worker.url);
  const ask = async (what: "rows" | "due" | "cron"): Promise<Measured> => {
    const headers = { "x-now-ms": String(nowMs()) };
    const answer = await fetch(`${worker.url}/measured/${what}/all`, { headers });
    return (await answer.json()) as Measured;
  };
  try {
    await ask("rows");
    const names = Array.from({ length: MACHINES }, (_, index) => `m-${index}`);
    const clock = { nowMs, timer: time.after };
    const machines = await someAtOnce(AT_ONCE, names, (name) =>
      startSocketMachine({ ...worker, url: relay.url }, { name, facts: machineFacts(), nowMs, clock }),
    );
    // setInterval moves the clock of the machines: each machine opens its socket at a set time of that clock.
    const opened = someAtOnce(MACHINES, machines, ({ open }) => open());
    const opening = setInterval(() => time.goTo(nowMs()), 10);
    await opened.finally(() => clearInterval(opening));
    const [first, ...others] = machines;
    if (!first) throw new Error("there are no machines");
    const steady: Steady[] = [];
    let rowsWritten = 0;
    for (let index = 1; nowMs() < startMs + FIRST_MS + MINUTES * MINUTE_MS; index++) {
      const vitals = machineVitals(index);
      const isMeasured = nowMs() >= startMs + FIRST_MS;
      const before = await ask("rows");
      kube.asked();
      relay.takeBytes();
      const isBeat = await first.beat(vitals);
      const bytes = relay.takeBytes();
      const beaten = await ask("rows");
      if (isMeasured && isBeat) steady.push({ ...beaten, requests: kube.asked().length, bytes });
      if (!isBeat) await first.report(vitals);
      await someAtOnce(AT_ONCE, others, ({ report }) => report(vitals));
      const isMinute = Math.floor(nowMs() / MINUTE_MS) !== Math.floor((nowMs() - BEAT_MS) / MINUTE_MS);
      const beside = [await ask("due"), ...(isMinute ? [await ask("cron")] : [])];
      if (isMeasured) for (const each of [before, beaten, ...beside]) rowsWritten += each.rowsWritten;
      time.goTo(nowMs() + BEAT_MS);
      progress(`${Math.round((nowMs() - startMs - FIRST_MS) / MINUTE_MS)} of ${MINUTES} minutes`);
    }
    return { ...meansOf(steady), rowsPerMinute: rowsWritten / MINUTES / MACHINES };
  } finally {
    await worker.stop();
    await kube.stop();
    relay.stop();
  }
});

function meansOf(steady: Steady[]): Omit<SocketCost, "rowsPerMinute"> {
  const mean = (of: (each: Steady) => number) =>
    steady.reduce((total, each) => total + of(each), 0) / steady.length;
  return {
    rows: mean((each) => each.rowsWritten),
    requests: mean((each) => each.requests),
    messages: mean(({ messages }) => messages.received + messages.sent),
    nodeRequests: mean((each) => each.nodeRequests),
    bytes: mean((each) => each.bytes),
  };
}

/** The rows of the table, by the ends of their names. */
const ROWS: [name: string, figure: keyof SocketCost][] = [
  ["rows", "rows"],
  ["requests", "requests"],
  ["messages", "messages"],
  ["wakes", "nodeRequests"],
  ["bytes", "bytes"],
  ["minute-rows", "rowsPerMinute"],
];

export const socketCosts: readonly Benchmark[] = ROWS.map(([name, figure]) => ({
  ...budgetOf(`socket-heartbeat-${name}`),
  measure: async (progress) => [{ ours: (await cost(progress))[figure] }],
}));
