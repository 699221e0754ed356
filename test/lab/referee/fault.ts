// Defines a fault of a round. A fault has a begin, and an end that restores the state before it.
import type { Random } from "../hostile/random.ts";
import type { LivingMachine, World } from "./world.ts";

export interface FaultContext {
  world: World;
  machine: LivingMachine;
  random: Random;
}

/** Ends a fault. May return a promise. */
type End = () => unknown;
export type Begin = (context: FaultContext) => End | Promise<End>;

export interface Fault {
  name: string;
  /** The shortest and the longest duration in seconds. */
  seconds: readonly [least: number, most: number];
  begin: Begin;
  /** true if the fault needs a machine whose shim runs. */
  isOfMachine: boolean;
}

/** The end of a fault that leaves nothing to restore. */
export const NOTHING = (): undefined => undefined;

/** Returns a function that makes a fault from its name, its seconds and its begin. */
export const faultsWith =
  ({ isOfMachine }: Pick<Fault, "isOfMachine">) =>
  (name: string, seconds: Fault["seconds"], begin: Begin): Fault => ({ name, seconds, begin, isOfMachine });
