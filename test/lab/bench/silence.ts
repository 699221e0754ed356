// Measures the time from a machine's silence until the Worker notices it. A relay cuts the network of machines on
// sockets without an end of connections, until the fleet index has each machine as `silent`. Real: the clock,
// workerd, the Worker, the shim's link, TCP through the relay.
import { setTimeout as wait } from "node:timers/promises";
import type { FleetMachine } from "../../../shared/protocol/fleet-answers.ts";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { startCountingKube } from "./counting-kube.ts";
import { until } from "./local-fleet.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import { startRelay } from "./relay.ts";
import { type BenchSocket, startSocketMachine } from "./socket-machine.ts";
import { type BenchWorker, startBenchWorker } from "./workerd.ts";

/** The number of machines. Each is cut off at another moment between two of its heartbeats. */
const MACHINES = 20;
const APART_MS = 500;
/** Milliseconds before the cut: two heartbeats of each machine. */
const STEADY_MS = 20_000;
const LOOK_EVERY_MS = 100;
const WITHIN_MS = 120_000;

/** Returns the longest time of all machines, because the budget applies to each machine. */
async function measure(progress: Progress): Promise<Round[]> {
  const relay = await startRelay();
  const kube = await startCountingKube(Date.now);
  const variables = { NODE_WATCH: "off", ORIGINS: relay.url };
  const worker = await startBenchWorker(kube, "m-*", { variables });
  relay.leadTo(worker.url);
  const ended = new AbortController();
  const running: Promise<void>[] = [];
  try {
    const names = Array.from({ length: MACHINES }, (_, index) => `m-${index}`);
    for (const name of names) {
      const wish = { name, facts: machineFacts(), nowMs: Date.now };
      const machine = await startSocketMachine({ ...worker, url: relay.url }, wish);
      await machine.open();
      running.push(beatUntil(machine, ended.signal));
      await wait(APART_MS);
    }
    await wait(STEADY_MS);
    relay.cutOff();
    const cutMs = performance.now();
    const silent = new Set<string>();
    const areAllSilent = async () => {
      for (const name of names)
        if (!silent.has(name) && (await stateOf(worker, name)) === "silent") silent.add(name);
      progress(`${silent.size} of ${MACHINES} are silent`);
      return silent.size === MACHINES;
    };
    await until("silent machines", areAllSilent, LOOK_EVERY_MS, WITHIN_MS);
    return [{ ours: (performance.now() - cutMs) / 1000 }];
  } finally {
    ended.abort();
    await worker.stop();
    await kube.stop();
    relay.stop();
    await Promise.all(running);
  }
}

/** Reports until `signal` is aborted, or until a report fails, as reports do after the network was cut. */
async function beatUntil({ report, stop }: BenchSocket, signal: AbortSignal): Promise<void> {
  for (let index = 1; !signal.aborted; index++) {
    const inMs = await report(machineVitals(index)).catch(() => null);
    if (inMs === null) break;
    await wait(inMs, undefined, { signal }).catch(() => undefined);
  }
  stop();
}

/** Returns the state in the fleet index. The request does not wake the machine's node object. */
async function stateOf({ operator }: BenchWorker, name: string): Promise<string> {
  const { url, headers } = operator;
  const answer = await fetch(`${url}/v1/nodes/${name}/summary`, { headers });
  return ((await answer.json()) as FleetMachine).state;
}

export const socketSilence: Benchmark = { ...budgetOf("socket-silence"), measure };
