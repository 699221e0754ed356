// Checks an existing Node before it is registered: is it ours, offered to us, or kept alive by someone else? Adopts an
// offered one; writes nothing else.
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

/** A client whose getNode adopts an offered Node, and fails with `context.lost` for one that others write. */
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
      // Saves the renewal that follows its GET.
      if (lease.ok) context.memory.lease = lease.value;
      return found;
    },
  };
}

/** The lease as the apiserver has it. Fails with `context.lost` where someone else renews it. */
export async function readLease(context: TickContext, client: KubeClient): Promise<ApiResult<Lease>> {
  const found = await client.getLease(NODE_LEASE_NAMESPACE, context.name);
  if (!found.ok) return found;
  const other = foreignRenewer(found.value, context.deployment, context.nowMs());
  if (other === null) return found;
  return loss(context, { phase: "name taken", reason: `${other} renews the lease` });
}

/** An operator who offers a Node deletes its lease. A lease that is there again shows that someone still renews it. */
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
