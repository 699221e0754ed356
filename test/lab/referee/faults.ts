// Lists the faults of a round. Each has a begin, and an end that brings back what was.
import type { Random } from "../hostile/random.ts";
import { CLUSTER_FAULTS } from "./cluster-faults.ts";
import { MACHINE_FAULTS } from "./machine-faults.ts";
import { WORKER_FAULTS } from "./worker-faults.ts";
import type { LivingMachine, World } from "./world.ts";

/** Ends a fault. */
export type End = () => unknown;

export interface FaultContext {
  world: World;
  machine: LivingMachine;
  random: Random;
}

export type Begin = (context: FaultContext) => End | Promise<End>;

export interface Fault {
  name: string;
  /** The shortest and the longest duration in seconds. */
  seconds: readonly [least: number, most: number];
  begin: Begin;
  /** true if the fault needs a machine whose shim runs. */
  isOfMachine: boolean;
}

export const FAULTS: readonly Fault[] = [...MACHINE_FAULTS, ...WORKER_FAULTS, ...CLUSTER_FAULTS];
