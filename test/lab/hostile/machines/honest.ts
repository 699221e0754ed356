// Runs honest machines that report all the time, and measures the duration of each report. A machine records its
// faults and continues.
import { setTimeout as wait } from "node:timers/promises";
import type { MachineKey } from "../../../../node-shim/identity/identity.ts";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../../../node-shim/worker-link/reporter.ts";
import { enrolledMachine, type RunningWorker } from "../../bench/workerd.ts";
import { wellDraft } from "./draft.ts";

export interface Honest {
  names: readonly string[];
  /** Returns the durations of the reports since the last call, in milliseconds. */
  durations: () => number[];
  /** The faults of honest machines: refused reports, and answers that a healthy machine does not get. */
  faults: string[];
  stop: () => Promise<void>;
}

export async function startHonest(
  worker: RunningWorker,
  names: readonly string[],
  everyMs: number,
): Promise<Honest> {
  const stop = new AbortController();
  const durations: number[] = [];
  const faults: string[] = [];
  const machines = await Promise.all(names.map((name) => startMachine(worker, name)));

  const running = machines.map(async (machine, at) => {
    // The machines start spread over the interval, like real machines.
    let nextMs = performance.now() + (at * everyMs) / names.length;
    for (;;) {
      const goesOn = await wait(Math.max(0, nextMs - performance.now()), true, { signal: stop.signal }).catch(
        () => false,
      );
      if (!goesOn) return;
      nextMs = Math.max(nextMs + everyMs, performance.now());
      const startedMs = performance.now();
      const fault = await machine.report();
      durations.push(performance.now() - startedMs);
      if (fault !== null) faults.push(fault);
    }
  });
  return {
    names,
    durations: () => durations.splice(0),
    faults,
    stop: async () => {
      stop.abort();
      await Promise.all(running);
      for (const { close } of machines) close();
    },
  };
}

interface Machine {
  /** Sends a report. Returns its fault, or null if the Node is as the report says; `isReady`: true by default. */
  report: (isReady?: boolean) => Promise<string | null>;
  close: () => void;
}

/** Enrols a machine, and reports until its Node is Ready. */
export async function startMachine(worker: RunningWorker, name: string): Promise<Machine> {
  const { send, close } = httpTransport(worker.url, 30_000);
  const enrolled: { key: MachineKey; kid: string; ticket: string } = await enrolledMachine(
    worker,
    name,
    send,
  );
  const ids = { startId: `start-of-${name}`, bootID: `boot-of-${name}`, machineID: `machine-of-${name}` };
  const machineTime = () => new Date().toISOString();
  const post = reporter({ name, origin: worker.url, ...enrolled, startId: ids.startId, send, machineTime });
  let turn = 0;
  const report = async (isReady = true) => {
    const { facts, vitals } = wellDraft(name, ids, turn++);
    if (!isReady) vitals.errors = { runtime: ["the runtime does not answer"] };
    const outcome = await post(facts, vitals);
    if (outcome.ok && outcome.value.phase === "registered" && outcome.value.ready === isReady) return null;
    return `${name}, report ${turn}: ${JSON.stringify(outcome.ok ? outcome.value : outcome.error)}`;
  };
  // The first report creates the Node, which is Ready after this report or the next.
  await report();
  const fault = await report();
  if (fault !== null) throw new Error(`an honest machine could not register: ${fault}`);
  return { report, close };
}
