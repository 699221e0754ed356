// Records an event when the Node is cordoned or uncordoned.
import type { RecordStatusEvent, Setter } from "./setter.ts";

/** What the last run saw; false in a kubelet that has just started. The caller keeps it between runs. */
export interface SchedulableState {
  lastNodeUnschedulable: boolean;
}

/** Upstream Kubelet.recordNodeSchedulableEvent. Updates `state`. */
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
