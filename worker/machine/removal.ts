// Takes a machine's lease and Node out of the cluster, where they are this deployment's. Safe to repeat: what is gone
// already is fine.
import { type ApiError, type ApiResult, isNotFound } from "../../shared/kubernetes/api-error.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { claimNode } from "../../shared/from-report/reported-node.ts";
import type { Environment } from "../env.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { foreignRenewer } from "../tick/other-writers.ts";
import { isNodeMissing, registeredUid } from "../tick/own-node.ts";
import { kubeOf } from "../tick/tick.ts";

export interface Removing {
  env: Environment;
  records: NodeRecordStore;
  name: string;
  /** Date.now */
  nowMs: () => number;
}

/** Two GETs and two DELETEs. */
const WITHIN_MS = 4000;

/** null once nothing of ours is left; else what kept it there. */
export async function removeFromCluster({ env, records, name, nowMs }: Removing): Promise<ApiError | null> {
  const { DEPLOYMENT: deployment } = env;
  const knownUid = registeredUid(records);
  // Without an apiserver there is nothing to remove, unless there once was one.
  if (env.KUBE_URL === "" && knownUid === undefined) return null;
  const client = kubeOf(env, nowMs)(WITHIN_MS);
  const node = await client.getNode(name);
  if (!node.ok && !isNodeMissing(node.error, name)) return node.error;
  const lease = await client.getLease(NODE_LEASE_NAMESPACE, name);
  if (!lease.ok && !isNotFound(lease.error)) return lease.error;
  // Somebody keeps this Node alive: it is theirs by now.
  if (lease.ok && foreignRenewer(lease.value, deployment, nowMs()) !== null) return null;

  const ourUid = node.ok && claimNode(node.value, deployment) === null ? node.value.metadata?.uid : undefined;
  if (lease.ok) {
    const { uid = "", ownerReferences = [] } = lease.value.metadata ?? {};
    const isOurs = ownerReferences.some((owner) => owner.uid === (ourUid ?? knownUid));
    const failed = isOurs ? failureOf(await client.deleteLease(NODE_LEASE_NAMESPACE, name, uid)) : null;
    if (failed) return failed;
  }
  return ourUid === undefined ? null : failureOf(await client.deleteNode(name, ourUid));
}

function failureOf(deletion: ApiResult<unknown>): ApiError | null {
  return deletion.ok || isNotFound(deletion.error) ? null : deletion.error;
}
