// Writes a Node's lease without renewing it, so that whoever has its last version cannot write it any more.
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import type { KubeClient } from "../kube/kube-client.ts";

/** A PUT that changes nothing leaves the version as it is. */
const TOUCHED_ANNOTATION = "rollcall.dev/recalled";

/** `uid`: of the Node; the lease of another one is left alone. False: somebody may still be able to write it. */
export async function touchLease(
  client: Pick<KubeClient, "getLease" | "updateLease">,
  name: string,
  uid: string | undefined,
  nowMs: number,
): Promise<boolean> {
  const found = await client.getLease(NODE_LEASE_NAMESPACE, name);
  if (!found.ok) return false;
  const { metadata } = found.value;
  const isOurs = (metadata?.ownerReferences ?? []).some((owner) => owner.uid === uid);
  if (!isOurs || !metadata?.resourceVersion) return true;
  const annotations = { ...metadata.annotations, [TOUCHED_ANNOTATION]: new Date(nowMs).toISOString() };
  return (await client.updateLease({ ...found.value, metadata: { ...metadata, annotations } })).ok;
}
