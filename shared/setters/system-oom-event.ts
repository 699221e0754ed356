// Records an event when the kernel has ended processes for want of memory. Changes no field of the Node.
import type { RecordEvent, Setter } from "./setter.ts";

/** The counter as it was last seen, and in which boot; null: never. The caller keeps it, also over a restart. */
export interface OomState {
  kills: number | null;
  bootID: string;
}

/**
 * The event of upstream's realWatcher (pkg/kubelet/oom), for a process that is not named: one for all that a report adds.
 * A machine that is seen for the first time may count what was long ago; after a boot, every one counts. An unknown
 * counter (undefined) changes nothing. Updates `state`.
 */
export function systemOomEvent(
  state: OomState,
  kills: number | undefined, // typically the vitals'
  bootID: string | undefined,
  recordEvent: RecordEvent,
): Setter {
  return () => {
    if (kills === undefined || bootID === undefined) return null;
    const before = state.bootID === bootID ? state.kills : 0;
    if (state.kills !== null && before !== null && kills > before)
      recordEvent("Warning", "SystemOOM", "System OOM encountered");
    state.kills = kills;
    state.bootID = bootID;
    return null;
  };
}
