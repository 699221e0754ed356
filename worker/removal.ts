// Takes a machine's lease and Node out of the cluster, where they are this deployment's. Safe to repeat: what is gone
// already is fine.
import { type Answer, type ApiError, isNotFound } from "../shared/kubernetes/api-error.ts";
import { NODE_LEASE_NAMESPACE } from "../shared/lease.ts";
import { claimNode } from "../shared/reported-node.ts";
import type { KubeClient } from "./kube-client.ts";
import { foreignRenewer } from "./other-writers.ts";
import { isNodeMissing } from "./own-node.ts";

export interface Removing {
  client: KubeClient;
  name: string;
  deployment: string;
  /** Of the Node that was registered last; undefined where none was. */
  registeredUid: string | undefined;
  nowMs: number;
}

/** null once nothing of ours is left; else what kept it there. */
export async function removeFromCluster(removing: Removing): Promise<ApiError | null> {
  const { client, name, deployment, registeredUid, nowMs } = removing;
  const node = await client.getNode(name);
  if ("failed" in node && !isNodeMissing(node.failed, name)) return node.failed;
  const lease = await client.getLease(NODE_LEASE_NAMESPACE, name);
  if ("failed" in lease && !isNotFound(lease.failed)) return lease.failed;
  // Somebody keeps this Node alive: it is theirs by now.
  if ("ok" in lease && foreignRenewer(lease.ok, deployment, nowMs) !== null) return null;

  const ourUid = "ok" in node && claimNode(node.ok, deployment) === null ? node.ok.metadata?.uid : undefined;
  if ("ok" in lease) {
    const { uid = "", ownerReferences = [] } = lease.ok.metadata ?? {};
    const isOurs = ownerReferences.some((owner) => owner.uid === (ourUid ?? registeredUid));
    const failed = isOurs ? failureOf(await client.deleteLease(NODE_LEASE_NAMESPACE, name, uid)) : null;
    if (failed) return failed;
  }
  return ourUid === undefined ? null : failureOf(await client.deleteNode(name, ourUid));
}

function failureOf(deletion: Answer<unknown>): ApiError | null {
  return "ok" in deletion || isNotFound(deletion.failed) ? null : deletion.failed;
}
