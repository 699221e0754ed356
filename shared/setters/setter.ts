// Defines the types of a setter, which is one step of the kubelet's node-status pipeline.
import type { EventReason } from "../kubernetes/event-reasons.ts";
import type { Node, NodeSpec, NodeStatus, ObjectMeta } from "../kubernetes/types.ts";

/**
 * A Node that setters change. `metadata`, `spec` and `status` belong to this draft alone, one level deep: a setter
 * assigns their fields, but never changes the value of a field, which the last known Node may share. Write
 * `status.conditions = [...]`, not `status.conditions.push(...)`.
 */
export interface DraftNode extends Node {
  metadata: ObjectMeta;
  spec: NodeSpec;
  status: NodeStatus;
}

/** Sets one noun of the Node. Returns an error's text, or null. Fields that were set before the error stay. */
export type Setter = (node: DraftNode) => string | null;

/** Records an event: `("Normal" | "Warning", reason, message)`. docs/reporting.md lists the reasons. */
export type RecordEvent = (type: string, reason: EventReason, message: string) => void;

/** Records an event of a custom setter, whose reasons may be its own. */
export type RecordAnyEvent = (type: string, reason: string, message: string) => void;

/** Records an event by its reason; recordNodeStatusEvent adds the message. */
export type RecordStatusEvent = (type: string, reason: EventReason) => void;
