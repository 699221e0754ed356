// Plays a fleet of simulated machines, some of which have faults: every fault that a simulated machine can have.
// Real: keys, enrolments, reports, the Worker, the apiserver. A machine's name alone decides its fault.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SimulatedFault } from "../../../infra/local/simulated-machine.ts";
import type { FleetState } from "../../../shared/fleet/state.ts";

/** The number of machines by fault. */
export type FaultCounts = Partial<Record<SimulatedFault, number>>;

/** The numbers of faults among a thousand machines. */
export const THOUSAND: FaultCounts = {
  down: 30,
  "cut off": 20,
  "memory pressure": 10,
  cloned: 5,
  "waiting for Node": 3,
};

/** The state of a machine with this fault, once the Worker has noticed the fault. */
const STATE_OF: Record<SimulatedFault, FleetState> = {
  down: "silent",
  "cut off": "silent",
  "memory pressure": "ready",
  "not ready": "not-ready",
  cloned: "blocked",
  "waiting for Node": "blocked",
  "another asks": "ready",
};

/**
 * Returns the fault of each broken machine by name: the first machines have the first fault, the next machines the
 * next one.
 */
export function faultsOf(counts: FaultCounts): Map<string, SimulatedFault> {
  const faults = Object.entries(counts).flatMap(([fault, count]) =>
    Array.from({ length: count }, () => fault as SimulatedFault),
  );
  return new Map(faults.map((fault, index) => [`sim-${index + 1}`, fault]));
}

export const expectedState = (fault: SimulatedFault | undefined): FleetState =>
  fault ? STATE_OF[fault] : "ready";

/** Writes the faults into `state`, the folder of infra/local/simulate.ts. */
export function writeFaults(state: string, faults: ReadonlyMap<string, SimulatedFault>): void {
  const file = join(state, "faults.json");
  writeFileSync(`${file}.new`, JSON.stringify(Object.fromEntries(faults)));
  renameSync(`${file}.new`, file);
}

/**
 * Returns the faults that machines must have from their first report on: machines that cannot create their Nodes.
 */
export const fromTheStart = (faults: ReadonlyMap<string, SimulatedFault>) =>
  new Map([...faults].filter(([, fault]) => fault === "waiting for Node"));
