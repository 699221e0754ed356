// Decides whether a missing container runtime, on a machine that once had one, keeps the Node from being Ready.
import type { Facts } from "../protocol/facts.ts";

/** The text of upstream's runtimeState.runtimeErrors for a runtime that has not answered for long. */
export const RUNTIME_DOWN = "container runtime is down";

/** The stored knowledge about a machine's runtime, as plain JSON. The last report alone lacks this knowledge. */
export interface RuntimeMemory {
  /** Present if the machine has ever had a runtime. */
  wasSeen?: true;
  /** Present if an operator has set that the machine needs no runtime. */
  isWaived?: true;
}

/** Updates the knowledge from accepted facts. Returns `memory` itself if nothing changes. */
export function runtimeSeen(memory: RuntimeMemory, ...facts: readonly (Facts | undefined)[]): RuntimeMemory {
  const isSeen = facts.some((each) => each?.runtime);
  return isSeen && !memory.wasSeen ? { ...memory, wasSeen: true } : memory;
}

/**
 * Returns the reason why a missing runtime keeps the Node from being Ready; null if the Node can be Ready. A shim
 * that is configured without a runtime gives no reason. A configured runtime reports its own errors.
 */
export function missingRuntime({ settings, runtime }: Facts, memory: RuntimeMemory): string | null {
  const isMissing = settings.findRuntime === true && runtime === null;
  return isMissing && memory.wasSeen && !memory.isWaived ? RUNTIME_DOWN : null;
}
