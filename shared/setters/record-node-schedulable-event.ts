// Records an event when the Node is cordoned or uncordoned.
import type { RecordStatusEvent, Setter } from "./setter.ts";

/** Whether the Node was cordoned at the last run; false if a kubelet has just started. The caller keeps the state. */
export interface SchedulableState {
  lastNodeUnschedulable: boolean;
}

/** Returns the setter of the cordon's events (upstream Kubelet.recordNodeSchedulableEvent), which updates `state`. */
export function recordNodeSchedulableEvent(
  state: SchedulableState,
  recordStatusEvent: RecordStatusEvent,
): Setter {
  return (node) => {
    const unschedulable = node.spec.unschedulable ?? false;
    if (state.lastNodeUnschedulable !== unschedulable) {
      recordStatusEvent("Normal", unschedulable ? "NodeNotSchedulable" : "NodeSchedulable");
      state.lastNodeUnschedulable = unschedulable;
    }
    return null;
  };
}
