// Runs the hostile machines in a thread of their own, so that their computing does not slow the honest ones.
import { setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import { type HostileMachine, type Outcome, runHostileMachine } from "./hostile-machine.ts";

export interface HostileOrders {
  seed: number;
  url: string;
  /** Infinity: until they have done their acts. */
  forMs: number;
  /** The most acts of each machine. */
  acts: number;
  machines: HostileMachine[];
}

/** The thread's messages. */
export interface Said {
  machine: string;
  index: number;
  outcome: Outcome;
}

function say(said: Said): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origins, a window's has
  parentPort?.postMessage(said);
}

const { seed, url, forMs, acts, machines } = workerData as HostileOrders;
const untilMs = performance.now() + forMs;
/** Longer than the Worker's own deadlines: later answers never come. */
const DEADLINE_MS = 30_000;

await Promise.all(
  machines.map(async (machine) => {
    const { send, close } = httpTransport(url, DEADLINE_MS);
    await runHostileMachine(machine, {
      seed,
      origin: url,
      send,
      acts,
      isOver: () => performance.now() >= untilMs,
      wait: async (ms) => {
        // Does not wait beyond the end of the run.
        await wait(Math.min(ms, Math.max(0, untilMs - performance.now())));
      },
      note: (index, outcome) => say({ machine: machine.name, index, outcome }),
    });
    close();
  }),
);
