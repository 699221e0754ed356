// Records an event when an eviction threshold is met and its grace period is over.
import type { Signal, Threshold } from "../resources/eviction.ts";
import type { RecordEvent, Setter } from "./setter.ts";

/** The scarce resource of the last run; null if a kubelet has just started. The caller keeps the state between runs. */
export interface ReclaimState {
  resource: string | null;
}

/** The resource of each signal (upstream signalToResource). */
const RESOURCE_OF_SIGNAL: Readonly<Record<Signal, string>> = {
  "memory.available": "memory",
  "allocatableMemory.available": "memory",
  "nodefs.available": "ephemeral-storage",
  "nodefs.inodesFree": "inodes",
  "imagefs.available": "ephemeral-storage",
  "imagefs.inodesFree": "inodes",
  "containerfs.available": "ephemeral-storage",
  "containerfs.inodesFree": "inodes",
  "pid.available": "pids",
};

/**
 * Returns a setter that records an event when another resource becomes the scarcest one, and updates `state`.
 * Upstream's eviction manager (synchronize) repeats the event every ten seconds.
 */
export function evictionThresholdEvent(
  state: ReclaimState,
  thresholds: readonly Threshold[],
  metThresholds: () => readonly string[], // the IDs in the eviction state when the setter runs
  recordEvent: RecordEvent,
): Setter {
  return () => {
    const resource = resourceToReclaim(thresholds, metThresholds());
    if (resource !== null && resource !== state.resource)
      recordEvent("Warning", "EvictionThresholdMet", `Attempting to reclaim ${resource}`);
    state.resource = resource;
    return null;
  };
}

/** Returns the scarcest resource, memory first (upstream byEvictionPriority and getReclaimableThreshold). */
function resourceToReclaim(thresholds: readonly Threshold[], met: readonly string[]): string | null {
  if (met.length === 0) return null;
  const resources = thresholds
    .filter(({ id }) => met.includes(id))
    .map(({ signal }) => RESOURCE_OF_SIGNAL[signal]);
  return resources.includes("memory") ? "memory" : (resources[0] ?? null);
}
