// Decides whether a missing container runtime keeps the Node from being Ready. It does on a machine that had a runtime, as
// with a kubelet, and not on a machine that never had one.
import type { Facts } from "../protocol/facts.ts";

/** Upstream runtimeState.runtimeErrors, for a runtime that has not answered for long. */
export const RUNTIME_DOWN = "container runtime is down";

/** What is known of a machine's runtime beyond its last report. Plain JSON, since it is stored. */
export interface RuntimeMemory {
  /** The machine has had a runtime. */
  wasSeen?: true;
  /** An operator has set that the machine needs none. */
  isWaived?: true;
}

/** Call it with accepted facts. Returns the same object if nothing changes. */
export function runtimeSeen(memory: RuntimeMemory, ...facts: readonly (Facts | undefined)[]): RuntimeMemory {
  const isSeen = facts.some((each) => each?.runtime);
  return isSeen && !memory.wasSeen ? { ...memory, wasSeen: true } : memory;
}

/**
 * Returns what keeps the Node from being Ready; null if nothing does. A shim that is configured without a runtime does not
 * search for one, and a configured runtime is reported with its own errors.
 */
export function missingRuntime({ settings, runtime }: Facts, memory: RuntimeMemory): string | null {
  const isMissing = settings.findRuntime === true && runtime === null;
  return isMissing && memory.wasSeen && !memory.isWaived ? RUNTIME_DOWN : null;
}
