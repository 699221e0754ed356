// Takes a machine's lease and Node out of the cluster, where they are this deployment's. Safe to repeat: what is gone
// already is fine.
import { type Answer, type ApiError, isNotFound } from "../../shared/kubernetes/api-error.ts";
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
  if ("failed" in node && !isNodeMissing(node.failed, name)) return node.failed;
  const lease = await client.getLease(NODE_LEASE_NAMESPACE, name);
  if ("failed" in lease && !isNotFound(lease.failed)) return lease.failed;
  // Somebody keeps this Node alive: it is theirs by now.
  if ("ok" in lease && foreignRenewer(lease.ok, deployment, nowMs()) !== null) return null;

  const ourUid = "ok" in node && claimNode(node.ok, deployment) === null ? node.ok.metadata?.uid : undefined;
  if ("ok" in lease) {
    const { uid = "", ownerReferences = [] } = lease.ok.metadata ?? {};
    const isOurs = ownerReferences.some((owner) => owner.uid === (ourUid ?? knownUid));
    const failed = isOurs ? failureOf(await client.deleteLease(NODE_LEASE_NAMESPACE, name, uid)) : null;
    if (failed) return failed;
  }
  return ourUid === undefined ? null : failureOf(await client.deleteNode(name, ourUid));
}

function failureOf(deletion: Answer<unknown>): ApiError | null {
  return "ok" in deletion || isNotFound(deletion.failed) ? null : deletion.failed;
}
