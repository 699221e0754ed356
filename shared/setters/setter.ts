// What a setter is: one step of the kubelet's node-status pipeline. Types only.
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

/**
 * Sets one noun of the Node. Returns the error's text, or null. What it had set before the error stays, as upstream.
 */
export type Setter = (node: DraftNode) => string | null;

/** Records an event: `("Normal" | "Warning", reason, message)`. docs/reporting.md lists the reasons. */
export type RecordEvent = (type: string, reason: EventReason, message: string) => void;

/** The same for custom setters, which may have reasons of their own. */
export type RecordAnyEvent = (type: string, reason: string, message: string) => void;

/** An event whose message follows from its reason: recordNodeStatusEvent adds it. */
export type RecordStatusEvent = (type: string, reason: EventReason) => void;
