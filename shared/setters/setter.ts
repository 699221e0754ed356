// The types of a setter: one step of the kubelet's node-status pipeline.
import type { EventReason } from "../kubernetes/event-reasons.ts";
import type { Node, NodeSpec, NodeStatus, ObjectMeta } from "../kubernetes/types.ts";

/**
 * A Node under construction. `metadata`, `spec` and `status` are this draft's own objects, one level deep: a setter
 * assigns their fields and never changes the value of a field, which the last known Node may share. Write
 * `status.conditions = [...]`, not `status.conditions.push(...)`.
 */
export interface DraftNode extends Node {
  metadata: ObjectMeta;
  spec: NodeSpec;
  status: NodeStatus;
}

/** Sets one noun of the Node. Returns the error's text, or null. Fields that it has set before the error stay, as upstream. */
export type Setter = (node: DraftNode) => string | null;

/** Records an event: `("Normal" | "Warning", reason, message)`. docs/reporting.md lists the reasons. */
export type RecordEvent = (type: string, reason: EventReason, message: string) => void;

/** Records an event of a custom setter, which may have its own reasons. */
export type RecordAnyEvent = (type: string, reason: string, message: string) => void;

/** Records an event by its reason; recordNodeStatusEvent adds the message. */
export type RecordStatusEvent = (type: string, reason: EventReason) => void;
