// What a setter is: one step of the kubelet's node-status pipeline. Types only.
import type { Node, NodeSpec, NodeStatus, ObjectMeta } from "../kubernetes/types.ts";

/**
 * A Node under construction. `metadata`, `spec` and `status` are objects of this draft's own, one level deep:
 * a setter assigns their fields and never changes what a field held before (that may belong to the last known
 * Node). `status.conditions = [...]`, not `status.conditions.push(...)`.
 */
export interface DraftNode extends Node {
  metadata: ObjectMeta;
  spec: NodeSpec;
  status: NodeStatus;
}

/** Sets one noun of the Node. Returns the error's text, or null; whatever it had set by then stays, as upstream. */
export type Setter = (node: DraftNode) => string | null;

/** An event that a decision causes: `("Normal" | "Warning", reason, message)`. */
export type RecordEvent = (type: string, reason: string, message: string) => void;

/** An event whose message only says which status the Node has now. */
export type RecordStatusEvent = (type: string, reason: string) => void;
