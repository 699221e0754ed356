// Measures the cost of gathering a report's facts and vitals of this computer, with a containerd. Measures the CPU time
// of all threads of this process, compared with reads of files. Also counts the started processes.
import { createHook } from "node:async_hooks";
import { readFile } from "node:fs/promises";
import { type Machine, thisMachine } from "../../../node-shim/machine/machine.ts";
import { containerd } from "../../node-shim/sources/cri/containerd.ts";
import type { Benchmark, Round } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { once } from "./once.ts";
import { inTurns } from "./rounds.ts";

const ROUNDS = 11;
const GATHERINGS_EACH = 20;
/** The number of readings: many, because the kernel counts CPU time in ticks. */
const READS = 500;

interface Gatherings {
  /** The CPU time of 100 gatherings, in milliseconds, next to the CPU time of 100 reads. */
  cpu: Round[];
  /** The number of processes started for 100 gatherings. */
  processes: number;
}

async function gatherings(): Promise<Gatherings> {
  const runtime = containerd();
  let machine: Machine | undefined;
  try {
    runtime.network(true);
    await runtime.start();
    const set = { "container-runtime-endpoint": [`unix://${runtime.socketPath}`] };
    machine = await thisMachine({ set }, () => undefined);
    const { gather } = machine;
    // The first gathering is not measured: it also reads the hardware in a process of its own, as the shim does
    // once an hour.
    await gather("wait");
    let processes = 0;
    const hook = createHook({ init: (_id, type) => void (processes += type === "PROCESSWRAP" ? 1 : 0) });
    hook.enable();
    const cpu = await inTurns(
      ROUNDS,
      async () => (await cpuMs(GATHERINGS_EACH, () => gather())) * (100 / GATHERINGS_EACH),
      async () => (await cpuMs(READS, () => readFile("/proc/meminfo"))) * (100 / READS),
    );
    hook.disable();
    return { cpu, processes: (processes * 100) / (ROUNDS * GATHERINGS_EACH) };
  } finally {
    machine?.close();
    await runtime.remove();
  }
}

/** Returns the CPU time that all threads of this process use for `runs` calls of `work`, in milliseconds. */
async function cpuMs(runs: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let run = 0; run < runs; run++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const measured = once(gatherings);

export const shimGathering: Benchmark[] = [
  { ...budgetOf("shim-gathering"), measure: async () => (await measured()).cpu },
  {
    ...budgetOf("shim-gathering-processes"),
    measure: async () => [{ ours: (await measured()).processes }],
  },
];
