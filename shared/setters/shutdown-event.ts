// Records an event when a machine begins to shut down, or no longer does. Changes no field of the Node.
import type { RecordEvent, Setter } from "./setter.ts";

/** What the last run saw; false in a kubelet that has just started. The caller keeps it between runs. */
export interface ShutdownState {
  isShuttingDown: boolean;
}

/** The events of upstream's node shutdown manager (managerImpl.start), in its words. Updates `state`. */
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
