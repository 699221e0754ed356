// Starts a deployment with machines whose costs are counted. Real: workerd, the Worker with its watch of the Nodes,
// the shim's requests and signatures, TLS, HTTP, the embedded apiserver with its controllers. All share a clock
// that moves only on request, and the apiserver takes 50 ms of it for each answer.
import { createSecureContext } from "node:tls";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { WorkerConnection } from "../../../../infra/operator/client.ts";
import type { QuestionAnswering } from "../../../../node-shim/worker-link/questions.ts";
import type { Facts } from "../../../../shared/protocol/facts.ts";
import { leastForSockets, reportIntervalMs } from "../../../../shared/protocol/settings.ts";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import type { BilledClock, BilledCounts, BilledStep } from "../../../worker/support/billed-counts.ts";
import { type CountingKube, startCountingKube } from "../counting-kube.ts";
import { DEPLOYED, enrolledMachine, startBenchWorker } from "../workerd.ts";
import type { SteppedTime } from "./stepped-time.ts";
import type { CostMachine, CostTransport } from "./transport.ts";
import { startWire, type Wire } from "./wire.ts";

const ENTRY = fileURLToPath(new URL("../../../worker/support/billed-entry.ts", import.meta.url));
const CLOCK = fileURLToPath(new URL("../../../worker/support/billed-clock.ts", import.meta.url));
/** Milliseconds until the apiserver's data have arrived at a watch. */
const ARRIVED_MS = 5;
/** The node controller's default: after this time without a heartbeat, the controller marks a Node as Unknown. */
const GRACE_MS = 50_000;
/** The time limit of a request, in real milliseconds. Long, so that a busy computer does not exceed it. */
const WITHIN_MS = 120_000;
const AT_ONCE = 8;

export interface FleetPlace {
  kube: CountingKube;
  wire: Wire;
  /** The machines. All names have the same length, so that none is a prefix of another. */
  machines: readonly (CostMachine & { name: string })[];
  control: Control;
  /** An operator's connection to the Worker, whose bytes the wire does not count. */
  operator: WorkerConnection;
  /**
   * Moves the clock to this time, or to an earlier event in the Worker or the apiserver. Returns the work in progress
   * while a part of the deployment is at work; null if the clock has moved. `sent`: the number of requests and messages for which machines await an answer.
   */
  stepTo: (atMs: number, sent: number) => Promise<string | null>;
}

/** Controls the clock of the measured Worker, and reads its counters. */
export interface Control {
  /** Moves the clock to a time, or to the first alarm before it. Waits while any part is at work. */
  step: (step: BilledStep) => Promise<BilledClock>;
  /** Rings all alarms that are due. */
  ring: () => Promise<BilledClock>;
  cron: () => Promise<BilledClock>;
  /** Returns the counts since the last call. The rows are exact while no part is at work. */
  counts: () => Promise<BilledCounts>;
}

interface PlaceWish {
  transport: CostTransport;
  machines: number;
  facts: Facts;
  time: SteppedTime;
  /** The milliseconds that the apiserver takes for an answer. */
  answersAfterMs: number;
  answering?: QuestionAnswering | undefined;
}

/** Starts the deployment, calls `work`, and stops everything afterwards. */
export async function withFleetPlace<T>(
  wish: PlaceWish,
  work: (place: FleetPlace) => Promise<T>,
): Promise<T> {
  const { transport, machines: count, facts, time, answersAfterMs, answering } = wish;
  const { nowMs, after, every } = time;
  const stops: (() => unknown)[] = [];
  try {
    const graceMs = Math.max(GRACE_MS, 1000 * facts.settings.nodeLeaseDurationSeconds);
    const choice = { after, answersAfterMs, controllers: { every, graceMs } };
    const kube = await startCountingKube(nowMs, choice);
    stops.push(kube.stop);
    const wire = await startWire(nowMs);
    stops.push(wire.stop);
    const { origin, authority } = wire;
    const variables = { ...DEPLOYED, ORIGINS: origin };
    const worker = await startBenchWorker(kube, "m-*", { entry: ENTRY, clock: CLOCK, variables });
    stops.push(worker.stop);
    wire.leadTo(Number(new URL(worker.url).port));
    const control = controlOf(worker.url);
    await control.step({ toMs: nowMs(), held: 0, sent: 0 });
    const stepTo = stepper(control, kube, time);
    const trust = createSecureContext({ ca: authority });
    let enrolling = 0;
    const pause = async (ms: number) => {
      enrolling--;
      await new Promise<void>((resolve) => void after(ms, resolve));
      enrolling++;
    };
    const enrol = async (name: string) => {
      const { send, close } = httpTransport(origin, WITHIN_MS, { proxy: null, trust });
      enrolling++;
      try {
        return await enrolledMachine({ ...worker, url: origin }, name, send, pause);
      } finally {
        enrolling--;
        close();
      }
    };
    const whileTimePasses = async <Result>(result: Promise<Result>) => {
      const state = { isOver: false };
      let work: string | null = null;
      const over = () => void (state.isOver = true);
      result.then(over, over);
      for (let looks = 0; !state.isOver; looks++) {
        work = await stepTo(nowMs() + LONGEST_STEP_MS, enrolling);
        if (work === null) looks = 0;
        else await lookLater(looks);
      }
      return result.catch((cause: unknown) => {
        throw new Error(`${String(cause)}; work: ${work}`, { cause });
      });
    };
    // The Worker offers no socket to few machines with a long interval, so names without a machine fill the fleet.
    const least = transport.gateway === undefined ? 0 : leastForSockets(reportIntervalMs(facts.settings));
    for (let index = count; index < least; index++) await whileTimePasses(enrol(`m-no-machine-${index}`));
    wire.take();
    const start = async (index: number) => {
      const name = `m-${String(index).padStart(5, "0")}`;
      const enrolled = await enrol(name);
      // Another host name would be a DNS name that each start of the shim and each hour asks the apiserver about.
      const own = { ...facts, settings: { ...facts.settings, hostname: name } };
      const place = { name, ...enrolled, origin, authority, facts: own, nowMs, after, answering };
      const machine = transport.start(place);
      stops.push(machine.stop);
      return { ...machine, name };
    };
    const startAll = async () => {
      const machines: Awaited<ReturnType<typeof start>>[] = [];
      for (let from = 0; from < count; from += AT_ONCE) {
        const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) =>
          start(from + index),
        );
        machines.push(...(await Promise.all(some)));
      }
      return machines;
    };
    const machines = await whileTimePasses(startAll());
    return await work({ kube, wire, machines, control, operator: worker.operator, stepTo });
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

/** The longest step of the clock while machines enrol. The next event is sooner. */
const LONGEST_STEP_MS = 60_000;
/** The longest real wait between two checks whether all parts wait, in milliseconds. A check uses CPU time. */
const LONGEST_LOOK_MS = 10;

/** Waits before the next check whether all parts wait: longer, the more checks there were. */
export const lookLater = (looks: number): Promise<void> => wait(Math.min(looks + 1, LONGEST_LOOK_MS));

function stepper(control: Control, kube: CountingKube, time: SteppedTime): FleetPlace["stepTo"] {
  return async (atMs, sent) => {
    const held = kube.held();
    const timerMs = time.nextMs();
    // The time is rounded up because the Worker's clock has no fractions.
    const toMs = Math.ceil(Math.min(atMs, timerMs));
    const { isQuiet, work, nowMs, dueMs } = await control.step({ toMs, held: held.length, sent });
    if (!isQuiet) return `${sent} sent, ${held.length} held by the apiserver, ${work}`;
    time.goTo(nowMs);
    if (timerMs <= nowMs && kube.held().length === held.length) await wait(ARRIVED_MS);
    if (dueMs !== null && dueMs <= nowMs) await control.ring();
    return null;
  };
}

function controlOf(url: string): Control {
  const ask = async <Answer>(what: keyof Control, value: object = {}): Promise<Answer> => {
    const response = await fetch(`${url}/billed/${what}`, { method: "POST", body: JSON.stringify(value) });
    if (!response.ok) throw new Error(`/billed/${what} → ${response.status}: ${await response.text()}`);
    return (await response.json()) as Answer;
  };
  return {
    step: (step) => ask("step", step),
    ring: () => ask("ring"),
    cron: () => ask("cron"),
    counts: () => ask("counts"),
  };
}
