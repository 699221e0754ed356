// Whether a container runtime that is not there keeps the Node from being Ready: on a machine that had one, as with a
// kubelet, and not on one that never had. Whoever decides keeps the memory of it.
import type { Facts } from "../protocol/facts.ts";

/** Upstream runtimeState.runtimeErrors, of a runtime that has not answered for long. */
export const RUNTIME_DOWN = "container runtime is down";

/** What is known of a machine's runtime beyond its last report. It is plain JSON, because it is stored. */
export interface RuntimeMemory {
  /** The machine has had one. */
  wasSeen?: true;
  /** An operator has said that the machine needs none. */
  isWaived?: true;
}

/** After facts that count; the same object where nothing changes. */
export function runtimeSeen(memory: RuntimeMemory, ...facts: readonly (Facts | undefined)[]): RuntimeMemory {
  const isSeen = facts.some((each) => each?.runtime);
  return isSeen && !memory.wasSeen ? { ...memory, wasSeen: true } : memory;
}

/**
 * What keeps the Node from being Ready; null: nothing. A machine whose configuration says that there is none does not look
 * for one, and one that is configured is reported with its own errors.
 */
export function missingRuntime({ settings, runtime }: Facts, memory: RuntimeMemory): string | null {
  const isMissing = settings.findRuntime === true && runtime === null;
  return isMissing && memory.wasSeen && !memory.isWaived ? RUNTIME_DOWN : null;
}
