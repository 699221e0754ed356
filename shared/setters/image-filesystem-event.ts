// Records an event for an image filesystem without capacity.
import type { RecordEvent, Setter } from "./setter.ts";

/** Whether the capacity was 0 at the last run; false if a kubelet has just started. The caller keeps the state. */
export interface ImageFilesystemState {
  hasNoCapacity: boolean;
}

/**
 * Returns a setter that records an event when the capacity becomes 0, and updates `state`. An unknown capacity
 * (undefined) changes nothing. Upstream's realImageGCManager.GarbageCollect repeats the event every five minutes.
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
