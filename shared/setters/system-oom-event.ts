// Records an event when the kernel has killed processes to free memory.
import type { RecordEvent, Setter } from "./setter.ts";

/** The last counter and its boot; null before the first one. The caller keeps it, also over a restart. */
export interface OomState {
  kills: number | null;
  bootID: string;
}

/**
 * The event of upstream's realWatcher (pkg/kubelet/oom), without a process: one for all kills since the last report. The
 * kills before a machine's first report do not count, but those after a boot do. An unknown counter (undefined) changes
 * nothing. Updates `state`.
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
