// Lists the faults of a round. Each has a begin, and an end that brings back what was.
import type { Random } from "../hostile/random.ts";
import type { KubeFault } from "./cluster.ts";
import type { PathFault } from "./network.ts";
import { type LivingMachine, WELL, type World } from "./world.ts";

/** Ends a fault. */
type End = () => unknown;

export interface Fault {
  name: string;
  /** The shortest and the longest duration in seconds. */
  seconds: readonly [number, number];
  /** Begins the fault. `machine`: the one that it concerns, if it concerns one. */
  begin: (context: FaultContext) => End | Promise<End>;
  /** True if the fault needs a machine whose shim runs. */
  isOfMachine: boolean;
}

export interface FaultContext {
  world: World;
  machine: LivingMachine;
  random: Random;
}

const NOTHING = () => undefined;

type Begin = Fault["begin"];
const ofMachine = (name: string, seconds: Fault["seconds"], begin: Begin): Fault => ({
  name,
  seconds,
  begin,
  isOfMachine: true,
});
const ofWorld = (name: string, seconds: Fault["seconds"], begin: Begin): Fault => ({
  ...ofMachine(name, seconds, begin),
  isOfMachine: false,
});

/** Adds a fault of the way, and removes it at the end. */
const onPath =
  (fault: PathFault): Begin =>
  ({ machine: { network } }) => {
    const own = { ...fault };
    network.faults.add(own);
    return () => void network.faults.delete(own);
  };

const onKube =
  (fault: KubeFault, of?: RegExp): Begin =>
  ({ world: { cluster, kubeTrouble, time } }) => {
    const own = { fault, ...(of && { of }) };
    cluster.faults.add(own);
    kubeTrouble.set(true, time.nowMs());
    return () => {
      cluster.faults.delete(own);
      kubeTrouble.set(cluster.faults.size > 0, time.nowMs());
    };
  };

const vitals =
  (change: Partial<typeof WELL>): Begin =>
  ({ machine }) => {
    machine.becomes({ vitals: { ...WELL, ...change, signals: { ...WELL.signals, ...change.signals } } });
    return () => machine.becomes({ vitals: WELL });
  };

/** A trouble of the Worker's objects that is over at once; its consequences may last as long as the flag. */
const onWorker =
  (act: (context: FaultContext) => unknown): Begin =>
  async (context) => {
    const { workerTrouble, time } = context.world;
    workerTrouble.set(true, time.nowMs());
    await act(context);
    workerTrouble.set(false, time.nowMs());
    return NOTHING;
  };

const nodeHost = ({ world, machine }: FaultContext) => world.platform.host("NODES", machine.name);

const MACHINE: Fault[] = [
  ofMachine("its power fails", [20, 240], ({ machine, random }) => {
    machine.stop(false);
    return () => {
      machine.health.bootID = `boot-${random.int(1e9)}`;
      machine.start();
    };
  }),
  ofMachine("its shim is killed", [20, 240], ({ machine }) => {
    machine.stop(true);
    return () => machine.start();
  }),
  ofMachine("its shim restarts", [1, 4], ({ machine }) => {
    machine.stop(true);
    return () => machine.start();
  }),
  ofMachine("it reboots", [8, 90], ({ machine, random }) => {
    machine.stop(true);
    return () => {
      machine.health.bootID = `boot-${random.int(1e9)}`;
      machine.start();
    };
  }),
  ofMachine("it lacks memory", [10, 200], vitals({ signals: { "memory.available": [1024, 8 * 2 ** 30] } })),
  ofMachine(
    "its disk is full",
    [10, 200],
    vitals({ signals: { "nodefs.available": [1024, 100 * 2 ** 30] } }),
  ),
  ofMachine("its runtime is down", [10, 200], vitals({ errors: { runtime: ["container runtime is down"] } })),
];

const PATH: Fault[] = [
  ofMachine("its way drops", [5, 200], onPath({ kind: "cut" })),
  ofMachine("its way takes 20 s", [30, 120], onPath({ kind: "slow", ms: 20_000 })),
  ofMachine("its sockets become half-open", [1, 1], ({ machine }) => {
    machine.network.halfOpen();
    return NOTHING;
  }),
];

const WORKER: Fault[] = [
  ofMachine(
    "its object is evicted",
    [1, 1],
    onWorker((context) => nodeHost(context).evict()),
  ),
  ofWorld(
    "a deployment",
    [1, 1],
    onWorker(({ world }) => {
      for (const host of world.platform.hosts()) host.abort("a deployment");
    }),
  ),
];

const CLUSTER: Fault[] = [
  ofWorld("the apiserver is away", [10, 240], onKube({ kind: "away" })),
  ofWorld("the apiserver answers 429", [10, 240], onKube({ kind: "status", code: 429, retryAfterS: 1 })),
  ofWorld("the apiserver answers after 2 s", [10, 240], onKube({ kind: "slow", ms: 2000 })),
];

export const FAULTS: readonly Fault[] = [...MACHINE, ...PATH, ...WORKER, ...CLUSTER];
