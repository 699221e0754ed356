// Sets the condition DiskPressure.
import { pressureCondition, type Wordings } from "./pressure-condition.ts";
import type { RecordStatusEvent, Setter } from "./setter.ts";

const WORDINGS: Wordings = {
  pressure: {
    reason: "KubeletHasDiskPressure",
    message: "kubelet has disk pressure",
    event: "NodeHasDiskPressure",
  },
  none: {
    reason: "KubeletHasNoDiskPressure",
    message: "kubelet has no disk pressure",
    event: "NodeHasNoDiskPressure",
  },
};

/** Returns the setter of DiskPressure (upstream nodestatus.DiskPressureCondition). */
export function diskPressureCondition(
  now: string,
  underPressure: () => boolean, // typically from the eviction signals
  recordStatusEvent: RecordStatusEvent,
): Setter {
  return pressureCondition("DiskPressure", now, underPressure, recordStatusEvent, WORDINGS);
}
