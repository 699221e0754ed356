// Makes the setters of the three pressure conditions.
import type { EventReason } from "../kubernetes/event-reasons.ts";
import type { NodeCondition } from "../kubernetes/types.ts";
import type { RecordStatusEvent, Setter } from "./setter.ts";

/** The texts of a condition in one of its two statuses. */
interface Wording {
  reason: string;
  message: string;
  /** The reason of the event. */
  event: EventReason;
}

/** The texts of the condition with pressure, and without pressure. */
export interface Wordings {
  pressure: Wording;
  none: Wording;
}

/**
 * Returns the setter of one condition (upstream {Memory,Disk,PID}PressureCondition). The setter updates the last
 * condition of the type, or appends a missing one. Reason, message and transition time change only with the status.
 */
export function pressureCondition(
  type: string,
  now: string,
  underPressure: () => boolean,
  recordStatusEvent: RecordStatusEvent,
  wordings: Wordings,
): Setter {
  return (node) => {
    const conditions = node.status.conditions ?? [];
    const index = conditions.findLastIndex((condition) => condition.type === type);
    const previous = conditions[index];
    const pressure = underPressure();
    const status = pressure ? "True" : "False";
    let condition: NodeCondition;
    if (previous?.status === status) condition = { ...previous, lastHeartbeatTime: now };
    else {
      const { reason, message, event } = pressure ? wordings.pressure : wordings.none;
      condition = { type, status, lastHeartbeatTime: now, lastTransitionTime: now, reason, message };
      recordStatusEvent("Normal", event);
    }
    node.status.conditions = previous ? conditions.with(index, condition) : [...conditions, condition];
    return null;
  };
}
