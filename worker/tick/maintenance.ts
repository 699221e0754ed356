// Decides which conditions of a maintenance a machine's Node lacks. The last writer wins: an order ends if another
// writer changes its conditions.
import { type Maintenance, missingConditions } from "../../shared/node/maintenance.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { NodeRecordStore } from "../storage/records.ts";

/** Returns the order that the Node has to follow. Forgets an order that has ended, or that another writer overruled. */
export function maintenanceFor(records: NodeRecordStore, node: Node): Maintenance | undefined {
  const order = records.get("maintenance");
  if (!order) return undefined;
  const missing = missingConditions(order, node);
  const isChanged = missing.some(({ type }) => node.status?.conditions?.some((each) => each.type === type));
  const isOver = missing.length === 0 ? order.untilMs === null : isChanged && order.isWritten;
  if (isOver) records.remove("maintenance");
  else if (missing.length === 0) records.put("maintenance", { ...order, isWritten: true });
  return isOver ? undefined : order;
}
