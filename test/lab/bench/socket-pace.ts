// Measures a thousand machines with a heartbeat every 9.6 s over sockets and, in the same minutes, a thousand by
// HTTP. Measures workerd's CPU time for a heartbeat with everything else: full reports, status writes, alarms.
// Real: the clock, two workerds, the shim's link.
import { setTimeout as wait } from "node:timers/promises";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { startCountingKube } from "./counting-kube.ts";
import { renewed } from "./heartbeat-load.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import { someAtOnce } from "./some-at-once.ts";
import { startSocketMachine } from "./socket-machine.ts";
import { enrolledMachine, type RunningWorker, startBenchWorker } from "./workerd.ts";

const MACHINES = 1000;
const STARTS_AT_ONCE = 8;
/**
 * Milliseconds before the measurement. The first status writes are spread over 2.5 to 7.5 minutes; from then on the
 * same number is due in each minute.
 */
const SETTLE_MS = 150_000;
const MOST_MINUTES = 5;
const WINDOW_MS = 30_000;
const WITHIN_MS = 9000;

interface PacedMachine {
  /** Sends a report. Returns the milliseconds until the next one. */
  report: (vitals: Vitals) => Promise<number>;
  stop: () => void;
}

type StartPaced = (worker: RunningWorker, name: string) => Promise<PacedMachine>;

const overSocket: StartPaced = async (worker, name) => {
  const machine = await startSocketMachine(worker, { name, facts: machineFacts(), nowMs: Date.now });
  await machine.open();
  return machine;
};

const overHttp: StartPaced = async (worker, name) => {
  const { send, close } = httpTransport(worker.url, WITHIN_MS);
  const machineTime = () => new Date().toISOString();
  const machine = { name, origin: worker.url, startId: `start of ${name}`, send, machineTime };
  const post = reporter({ ...machine, ...(await enrolledMachine(worker, name, send)) });
  const facts = machineFacts();
  const report: PacedMachine["report"] = async (vitals) => {
    const outcome = await post(facts, vitals);
    if (!outcome.ok) throw new Error(`a report of ${name} was not taken: ${JSON.stringify(outcome)}`);
    return outcome.value.reportInMs;
  };
  return { report, stop: close };
};

/** Runs machines that keep reporting by themselves from their start on. */
class PacedFleet {
  readonly #start: StartPaced;
  readonly #worker: RunningWorker;
  readonly #ended = new AbortController();
  beats = 0;
  /** The reason why a machine of the fleet has stopped. undefined while all run. */
  fault: unknown;

  constructor(worker: RunningWorker, start: StartPaced) {
    this.#worker = worker;
    this.#start = start;
  }

  async start(name: string): Promise<void> {
    const machine = await this.#start(this.#worker, name);
    void this.#run(machine).catch((error: unknown) => (this.fault ??= error));
  }

  async #run({ report, stop }: PacedMachine): Promise<void> {
    const { signal } = this.#ended;
    try {
      for (let index = 0; !signal.aborted; index++) {
        const inMs = await report(machineVitals(index));
        this.beats++;
        await wait(inMs, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      stop();
    }
  }

  /** Returns a function that returns the CPU microseconds of workerd per heartbeat since the last call. */
  counter(): () => number {
    let [beats, cpu] = [this.beats, this.#worker.cpuMicroseconds()];
    return () => {
      if (this.fault !== undefined) throw new Error("a machine has stopped", { cause: this.fault });
      const before = { beats, cpu };
      [beats, cpu] = [this.beats, this.#worker.cpuMicroseconds()];
      return (cpu - before.cpu) / (beats - before.beats);
    };
  }

  stop(): void {
    this.#ended.abort();
  }
}

async function measure(progress: Progress, minutes: number): Promise<Round[]> {
  const stops: (() => unknown)[] = [];
  const fleetOf = async (start: StartPaced) => {
    const kube = await startCountingKube(Date.now, { shortcut: renewed });
    stops.push(kube.stop);
    const worker = await startBenchWorker(kube, "m-*");
    stops.push(worker.stop);
    const fleet = new PacedFleet(worker, start);
    stops.push(() => fleet.stop());
    return fleet;
  };
  try {
    const fleets = [await fleetOf(overSocket), await fleetOf(overHttp)] as const;
    const names = Array.from({ length: MACHINES }, (_, index) => `m-${index}`);
    await someAtOnce(STARTS_AT_ONCE, names, async (name, index) => {
      progress(`${index} of ${MACHINES} machines`);
      for (const fleet of fleets) await fleet.start(name);
    });
    progress("all have begun");
    await wait(SETTLE_MS);
    const [ours, yardstick] = [fleets[0].counter(), fleets[1].counter()];
    const rounds: Round[] = [];
    const windows = Math.max(1, Math.round((Math.min(minutes, MOST_MINUTES) * 60_000) / WINDOW_MS));
    for (let window = 1; window <= windows; window++) {
      progress(`${window} of ${windows} half minutes`);
      await wait(WINDOW_MS);
      rounds.push({ ours: ours(), yardstick: yardstick() });
    }
    return rounds;
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

export const socketPace: Benchmark = { ...budgetOf("socket-heartbeat-pace-cpu"), measure };
