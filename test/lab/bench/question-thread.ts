// Plays, in a thread of its own, the machines that answer bundles for question-beats.ts, or the operator who asks them.
import { setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { WorkerConnection } from "../../../infra/operator/client.ts";
import { answeringBytes, ask, readAnswer } from "./asking.ts";
import { type Beaten, beatingFacts, beatUntil } from "./beating.ts";
import { startSocketMachine } from "./socket-machine.ts";

export interface Orders {
  plays: "machines" | "askers";
  url: string;
  joinToken: string;
  operator: WorkerConnection;
  /** The names of the machines that answer. */
  names: readonly string[];
}

/** A message of the thread: that it is ready, a whole answer, or the milliseconds of a heartbeat of a machine that answers. */
export type ThreadMessage = "ready" | "bundle" | Beaten;

const orders = workerData as Orders;
const never = new AbortController().signal;
/** The bytes that the slow asker reads in a second. */
const SLOW_BYTES = 256 * 1024;

function notify(message: ThreadMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- only a window's messages have an origin, not a thread's
  parentPort?.postMessage(message);
}

async function playMachines(): Promise<void> {
  const { url, joinToken, names } = orders;
  const wish = { facts: beatingFacts(), nowMs: Date.now, answering: answeringBytes() };
  const worker = { url, joinToken, cpuMicroseconds: () => 0, stop: () => Promise.resolve() };
  for (const name of names) {
    const machine = await startSocketMachine(worker, { name, ...wish });
    await machine.open();
    void beatUntil(machine, never, notify);
  }
}

/** Asks until `signal` is aborted: again at once after each answer, or when the Worker allows it. */
async function askUntil(
  name: string,
  signal: AbortSignal,
  pace?: (bytes: number) => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    const answer = await ask(orders.operator, name, "bundle", signal).catch(() => null);
    if (answer === null) return;
    if (typeof answer === "number") await wait(1000 * answer, undefined, { signal }).catch(() => undefined);
    else if (
      await readAnswer(answer, pace).then(
        () => true,
        () => false,
      )
    )
      notify("bundle");
  }
}

function playAskers(): void {
  let asking = new AbortController();
  parentPort?.on("message", (order: "begin" | "end") => {
    asking.abort();
    if (order === "end") return;
    asking = new AbortController();
    const { signal } = asking;
    const slowly = (bytes: number) =>
      wait((1000 * bytes) / SLOW_BYTES, undefined, { signal }).catch(() => undefined);
    for (const name of orders.names)
      for (const pace of [slowly, undefined]) void askUntil(name, signal, pace);
  });
}

await (orders.plays === "machines" ? playMachines() : playAskers());
notify("ready");
