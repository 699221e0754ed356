// Before a Node that exists is registered: is it ours, offered to us, kept alive by someone else? An offered one is
// adopted here; nothing else is written.
import { adoptionPatch, isOfferedTo } from "../../shared/node/adoption.ts";
import { type ApiResult, isNotFound } from "../../shared/kubernetes/api-error.ts";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { ownershipFault } from "../../shared/node/ownership.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { foreignRenewer, isRenewedBy } from "./other-writers.ts";
import { loss } from "./own-node.ts";
import type { TickContext } from "./context.ts";

/** A lease that cannot be read must not keep an owned Node from being registered. */
const LEASE_LOOK_MS = 1000;

/** A client whose getNode adopts a Node that is offered, and fails, with `context.lost`, for one that others write. */
export function claimingClient(context: TickContext, client: KubeClient): KubeClient {
  return {
    ...client,
    async getNode(name) {
      const found = await client.getNode(name);
      if (!found.ok) return found;
      const isOurs = ownershipFault(found.value, context.deployment) === null;
      const isOffered = isOfferedTo(found.value, context.deployment);
      if (!isOurs && !isOffered) return found;
      const lease = await readLease(context, context.client(LEASE_LOOK_MS));
      if (context.lost) return loss(context, context.lost);
      if (!isOurs) return adopt(context, client, found.value, lease);
      // The renewal that follows needs no other GET.
      if (lease.ok) context.memory.lease = lease.value;
      return found;
    },
  };
}

/** The lease as the apiserver has it; one that someone else renews fails, with `context.lost`. */
export async function readLease(context: TickContext, client: KubeClient): Promise<ApiResult<Lease>> {
  const found = await client.getLease(NODE_LEASE_NAMESPACE, context.name);
  if (!found.ok) return found;
  const other = foreignRenewer(found.value, context.deployment, context.nowMs());
  if (other === null) return found;
  return loss(context, { phase: "name taken", reason: `${other} renews the lease` });
}

/** An operator who hands a Node over deletes its lease: whoever renews it would make it again. */
async function adopt(
  context: TickContext,
  client: KubeClient,
  node: Node,
  lease: ApiResult<Lease>,
): Promise<ApiResult<Node>> {
  const { deployment, enrolment } = context;
  if (!lease.ok && !isNotFound(lease.error)) return lease;
  if (lease.ok && !isRenewedBy(lease.value, deployment)) {
    return loss(context, {
      phase: "name taken",
      reason: "the Node is offered, but its lease is still there",
    });
  }
  const adopted = await client.patchNode(
    node,
    adoptionPatch(node, deployment, enrolment.withoutFactsOnlyTaint),
  );
  if (adopted.ok) context.journal.note("registration", "Node adopted", context.nowMs());
  return adopted;
}
