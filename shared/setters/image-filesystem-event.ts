// Records an event for an image filesystem without capacity.
import type { RecordEvent, Setter } from "./setter.ts";

/** What the last run saw; false in a kubelet that has just started. The caller keeps it between runs. */
export interface ImageFilesystemState {
  hasNoCapacity: boolean;
}

/**
 * The event of upstream's realImageGCManager.GarbageCollect. Upstream repeats it every five minutes; this setter records
 * it once, when the capacity becomes 0. An unknown capacity (undefined) changes nothing. Updates `state`.
 */
export function imageFilesystemEvent(
  state: ImageFilesystemState,
  capacityBytes: number | undefined,
  recordEvent: RecordEvent,
): Setter {
  return () => {
    if (capacityBytes === undefined) return null;
    const hasNoCapacity = capacityBytes === 0;
    if (hasNoCapacity && !state.hasNoCapacity)
      recordEvent("Warning", "InvalidDiskCapacity", "invalid capacity 0 on image filesystem");
    state.hasNoCapacity = hasNoCapacity;
    return null;
  };
}
