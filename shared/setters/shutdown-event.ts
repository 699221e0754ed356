// Records an event when a shutdown of the machine begins or is cancelled.
import type { RecordEvent, Setter } from "./setter.ts";

/** What the last run saw; false in a kubelet that has just started. The caller keeps it between runs. */
export interface ShutdownState {
  isShuttingDown: boolean;
}

/** The events of upstream's node shutdown manager (managerImpl.start). Updates `state`. */
export function shutdownEvent(
  state: ShutdownState,
  isShuttingDown: boolean, // typically the vitals'
  recordEvent: RecordEvent,
): Setter {
  return () => {
    if (isShuttingDown !== state.isShuttingDown) {
      const what = isShuttingDown ? "event" : "cancellation";
      recordEvent("Normal", "Shutdown", `Shutdown manager detected shutdown ${what}`);
    }
    state.isShuttingDown = isShuttingDown;
    return null;
  };
}
