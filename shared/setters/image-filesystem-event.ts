// The event of an image filesystem without capacity. Changes no field of the Node.
import type { RecordEvent, Setter } from "./setter.ts";

/** What the last run saw; false in a kubelet that has just started. The caller keeps it between runs. */
export interface ImageFilesystemState {
  hasNoCapacity: boolean;
}

/**
 * What upstream's realImageGCManager.GarbageCollect says of it. Upstream says it again every five minutes; here it is
 * said when it begins. An unknown capacity (undefined) is no news. Updates `state`.
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
