// Makes a Node's Ready Unknown, for a machine without a report that counts. No other condition changes, so that the
// last report's pressures stay on the Node.
import { type Unready, UNREADY } from "../fleet/unready.ts";
import type { Node } from "../kubernetes/types.ts";
import { readyConditionOf } from "./heartbeat.ts";
import type { ConditionChange } from "./maintenance.ts";

/** The node controller's reason for a silent machine. Of the more exact reasons, this one replaces a past clone's. */
export const NODE_STATUS_UNKNOWN = "NodeStatusUnknown";

/**
 * Returns the new Ready; null if Ready is Unknown for this reason already. The transition time changes with the status
 * only. The condition has no heartbeat time: a newer one would make the node controller wait longer.
 */
export function unreadyCondition(
  node: Node,
  { reason, message }: Unready,
  nowMs: number,
): ConditionChange | null {
  const ready = readyConditionOf(node);
  const isUnknown = ready?.status === "Unknown";
  const isLessExact = reason === NODE_STATUS_UNKNOWN && ready?.reason !== UNREADY.cloned.reason;
  if (isUnknown && (ready.reason === reason || isLessExact)) return null;
  const since = isUnknown ? {} : { lastTransitionTime: `${new Date(nowMs).toISOString().slice(0, 19)}Z` };
  return { type: "Ready", status: "Unknown", reason, message, ...since };
}
