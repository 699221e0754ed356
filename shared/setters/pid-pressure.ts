// Sets the condition PIDPressure.
import { pressureCondition, type Wordings } from "./pressure-condition.ts";
import type { RecordStatusEvent, Setter } from "./setter.ts";

const WORDINGS: Wordings = {
  pressure: {
    reason: "KubeletHasInsufficientPID",
    message: "kubelet has insufficient PID available",
    event: "NodeHasInsufficientPID",
  },
  none: {
    reason: "KubeletHasSufficientPID",
    message: "kubelet has sufficient PID available",
    event: "NodeHasSufficientPID",
  },
};

/** Returns the setter of PIDPressure (upstream nodestatus.PIDPressureCondition). */
export function pidPressureCondition(
  now: string,
  underPressure: () => boolean, // typically from the eviction signals
  recordStatusEvent: RecordStatusEvent,
): Setter {
  return pressureCondition("PIDPressure", now, underPressure, recordStatusEvent, WORDINGS);
}
