// Records an event when the kernel has killed processes to free memory.
import type { RecordEvent, Setter } from "./setter.ts";

/** The last counter of OOM kills and its boot; null before the first counter. The caller stores it through restarts. */
export interface OomState {
  kills: number | null;
  bootID: string;
}

/**
 * Returns a setter that records one event for all kills since the last report, and updates `state`. Upstream's
 * realWatcher (pkg/kubelet/oom) also names the process. Kills before a machine's first report do not count, but
 * kills after a boot do. An unknown counter (undefined) changes nothing.
 */
export function systemOomEvent(
  state: OomState,
  kills: number | undefined, // typically from the vitals
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
