// What it costs to gather a report's facts and vitals of this machine once, with a containerd: CPU of all threads of this
// process, and processes that were started for it.
import { createHook } from "node:async_hooks";
import { thisMachine } from "../../node-shim/machine/machine.ts";
import { containerd } from "../node-shim/sources/cri/containerd.ts";
import type { Benchmark } from "./benchmark.ts";
import { once } from "./once.ts";

const RUNS = 100;

interface Gathering {
  cpuMs: number;
  processes: number;
}

async function gatherings(): Promise<Gathering> {
  const runtime = containerd();
  let machine;
  try {
    runtime.network(true);
    await runtime.start();
    const set = { "container-runtime-endpoint": [`unix://${runtime.socketPath}`] };
    machine = await thisMachine({ set }, () => undefined);
    // The first one looks at the hardware as well, in a process of its own: as at every hour, and beside the report.
    await machine.gather("wait");
    let processes = 0;
    const hook = createHook({ init: (_id, type) => void (processes += type === "PROCESSWRAP" ? 1 : 0) });
    hook.enable();
    const before = process.cpuUsage();
    for (let run = 0; run < RUNS; run++) await machine.gather();
    const { user, system } = process.cpuUsage(before);
    hook.disable();
    return { cpuMs: (user + system) / 1000 / RUNS, processes };
  } finally {
    machine?.close();
    await runtime.remove();
  }
}

const measured = once(gatherings);

export const shimGathering: Benchmark[] = [
  {
    name: "shim-gathering",
    what: "one gathering of facts and vitals, CPU",
    unit: "ms",
    budget: 5,
    atLeast: false,
    measure: async () => (await measured()).cpuMs,
  },
  {
    name: "shim-gathering-processes",
    what: "processes started for 100 of them",
    unit: "processes",
    budget: 0,
    atLeast: false,
    measure: async () => (await measured()).processes,
  },
];
