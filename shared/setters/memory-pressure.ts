// Sets the condition MemoryPressure.
import { pressureCondition, type Wordings } from "./pressure-condition.ts";
import type { RecordStatusEvent, Setter } from "./setter.ts";

const WORDINGS: Wordings = {
  pressure: {
    reason: "KubeletHasInsufficientMemory",
    message: "kubelet has insufficient memory available",
    event: "NodeHasInsufficientMemory",
  },
  none: {
    reason: "KubeletHasSufficientMemory",
    message: "kubelet has sufficient memory available",
    event: "NodeHasSufficientMemory",
  },
};

/** Returns the setter of MemoryPressure (upstream nodestatus.MemoryPressureCondition). */
export function memoryPressureCondition(
  now: string,
  underPressure: () => boolean, // typically from the eviction signals
  recordStatusEvent: RecordStatusEvent,
): Setter {
  return pressureCondition("MemoryPressure", now, underPressure, recordStatusEvent, WORDINGS);
}
