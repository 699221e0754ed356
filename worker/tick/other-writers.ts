// Finds who else writes this machine's lease and Node, by their managedFields. Where an apiserver does not record who
// owns a field, it counts as written by nobody else.
import { fieldOwners } from "../../shared/kubernetes/managed-fields.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import type { Lease, Node, ObjectMeta } from "../../shared/kubernetes/types.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";

const RENEW_TIME = ["f:spec", "f:renewTime"];
const READY_HEARTBEAT = ["f:status", "f:conditions", 'k:{"type":"Ready"}', "f:lastHeartbeatTime"];

/** Who renews the lease in our place; null where nobody does, or no more: its duration has passed. */
export function foreignRenewer(lease: Lease, deployment: string, nowMs: number): string | null {
  const other = otherOwner(lease.metadata, RENEW_TIME, deployment);
  const { renewTime, leaseDurationSeconds = 0 } = lease.spec ?? {};
  if (other === null || renewTime === undefined) return null;
  // A time ahead of this clock counts as recent as well.
  return nowMs - parseMicroTime(renewTime) / 1000 < leaseDurationSeconds * 1000 ? other : null;
}

/** Did this deployment renew it last? */
export function isRenewedBy(lease: Lease, deployment: string): boolean {
  return fieldOwners(lease.metadata, RENEW_TIME).includes(fieldManagerOf(deployment));
}

/** Who has written a heartbeat since `known` was read; null where nobody else has. */
export function foreignHeartbeat(found: Node, known: Node, deployment: string): string | null {
  if (heartbeatMs(found) <= heartbeatMs(known)) return null;
  return otherOwner(found.metadata, READY_HEARTBEAT, deployment);
}

function heartbeatMs(node: Node): number {
  return Date.parse(readyConditionOf(node)?.lastHeartbeatTime ?? "") || 0;
}

function otherOwner(
  metadata: ObjectMeta | undefined,
  path: readonly string[],
  deployment: string,
): string | null {
  const owners = fieldOwners(metadata, path);
  return owners.includes(fieldManagerOf(deployment)) ? null : (owners[0] ?? null);
}
