// Records an event when an eviction threshold is met and its grace period is over.
import type { Signal, Threshold } from "../resources/eviction.ts";
import type { RecordEvent, Setter } from "./setter.ts";

/** The scarce resource of the last run; null in a kubelet that has just started. The caller keeps it. */
export interface ReclaimState {
  resource: string | null;
}

/** Upstream signalToResource. */
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
 * The event of upstream's eviction manager (synchronize). Upstream repeats it every ten seconds; this setter records it
 * once, when another resource comes first. Updates `state`.
 */
export function evictionThresholdEvent(
  state: ReclaimState,
  thresholds: readonly Threshold[],
  metThresholds: () => readonly string[], // IDs; typically of the eviction state, when the setter runs
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

/** Upstream byEvictionPriority and getReclaimableThreshold: memory comes before all others. */
function resourceToReclaim(thresholds: readonly Threshold[], met: readonly string[]): string | null {
  if (met.length === 0) return null;
  const resources = thresholds
    .filter(({ id }) => met.includes(id))
    .map(({ signal }) => RESOURCE_OF_SIGNAL[signal]);
  return resources.includes("memory") ? "memory" : (resources[0] ?? null);
}
