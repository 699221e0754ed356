// Runs the hostile machines in a thread of their own, so that their computing does not slow the honest machines.
import { setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import { type HostileMachine, type Outcome, runHostileMachine } from "./hostile-machine.ts";

export interface HostileOrders {
  seed: number;
  url: string;
  /** Milliseconds until the machines end. Infinity: until they have done all their acts. */
  forMs: number;
  /** The maximum number of acts of each machine. */
  acts: number;
  machines: HostileMachine[];
}

/** The message that the thread sends after each act. */
export interface Said {
  machine: string;
  index: number;
  outcome: Outcome;
}

function say(said: Said): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- only a window's messages have an origin, not a thread's
  parentPort?.postMessage(said);
}

const { seed, url, forMs, acts, machines } = workerData as HostileOrders;
const untilMs = performance.now() + forMs;
/**
 * The time limit of a request in milliseconds: longer than the Worker's own deadlines, so that no answer can come
 * later.
 */
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
        // A machine's wait ends with the run at the latest.
        await wait(Math.min(ms, Math.max(0, untilMs - performance.now())));
      },
      note: (index, outcome) => say({ machine: machine.name, index, outcome }),
    });
    close();
  }),
);
