// Writes a Node's lease without renewing it, so that whoever has its last version cannot write it any more.
import { isConflict, isNotFound } from "../../shared/kubernetes/api-error.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import type { KubeClient } from "../kube/kube-client.ts";

type LeaseClient = Pick<KubeClient, "getLease" | "updateLease">;

/** A PUT that changes nothing leaves the version as it is. */
const TOUCHED_ANNOTATION = "rollcall.dev/recalled";
/** Who is to be kept from it may write it between our GET and our PUT, and not more often than every few seconds. */
const TRIES = 4;

/** `uid`: of the Node; the lease of another one is left alone. False: somebody may still be able to write it. */
export async function touchLease(
  client: LeaseClient,
  name: string,
  uid: string | undefined,
  nowMs: number,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    const outcome = await touchOnce(client, name, uid, nowMs);
    if (outcome !== "conflict") return outcome === "touched";
  }
  return false;
}

async function touchOnce(
  client: LeaseClient,
  name: string,
  uid: string | undefined,
  nowMs: number,
): Promise<"touched" | "conflict" | "failed"> {
  const found = await client.getLease(NODE_LEASE_NAMESPACE, name);
  // Nobody creates one under an order.
  if (!found.ok) return isNotFound(found.error) ? "touched" : "failed";
  const { metadata } = found.value;
  const isOurs = (metadata?.ownerReferences ?? []).some((owner) => owner.uid === uid);
  if (!isOurs || !metadata?.resourceVersion) return "touched";
  const annotations = { ...metadata.annotations, [TOUCHED_ANNOTATION]: new Date(nowMs).toISOString() };
  const written = await client.updateLease({ ...found.value, metadata: { ...metadata, annotations } });
  if (written.ok) return "touched";
  return isConflict(written.error) ? "conflict" : "failed";
}
