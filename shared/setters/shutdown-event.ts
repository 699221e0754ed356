// Records an event when a shutdown of the machine begins or is cancelled.
import type { RecordEvent, Setter } from "./setter.ts";

/** Whether a shutdown was reported at the last run; false if a kubelet has just started. The caller keeps the state. */
export interface ShutdownState {
  isShuttingDown: boolean;
}

/** Returns a setter that records upstream's events of a shutdown (managerImpl.start), and updates `state`. */
export function shutdownEvent(
  state: ShutdownState,
  isShuttingDown: boolean, // typically from the vitals
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
