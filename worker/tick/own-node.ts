// Reads this machine's Node, and detects that it is no longer the one that was registered, or no longer ours. Writes
// nothing to the apiserver: it is not for this machine to decide about such a Node.
import { type ApiError, type ApiResult, isNotFound } from "../../shared/kubernetes/api-error.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { ownershipFault } from "../../shared/node/ownership.ts";
import { foreignHeartbeat } from "./other-writers.ts";
import { deletionAfter, wasReady } from "./register-again.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { LostPhase, NodeRecordStore } from "../storage/records.ts";
import type { Loss, TickContext } from "./context.ts";
import { failure, type Failure } from "../../shared/result.ts";

export type OwnNodeContext = Pick<TickContext, "name" | "records" | "deployment" | "lost">;

/** `report`: the process of the shim for which the loss counts. */
export type LossContext = Pick<TickContext, "records" | "journal" | "memory" | "log" | "facts" | "nowMs"> & {
  report: Pick<TickContext["report"], "startId">;
};

/**
 * The Node as the apiserver has it, where it is the one that was registered and still ours. Else it fails and sets
 * `context.lost`; once that is set, it fails without a request.
 */
export async function readOwnNode(
  context: OwnNodeContext,
  client: KubeClient,
  fromCache = false,
): Promise<ApiResult<Node>> {
  if (context.lost) return loss(context, context.lost);
  const found = await client.getNode(context.name, fromCache);
  if (!found.ok) {
    const isGone = isNodeMissing(found.error, context.name);
    return isGone ? loss(context, { phase: "node deleted", reason: "the Node is gone" }) : found;
  }
  const lost = lossOf(found.value, context);
  return lost === null ? found : loss(context, lost);
}

/** Why a Node is not this machine's, or not any more. One with another uid is another Node, even if this deployment created it. */
export function lossOf(
  found: Node,
  { records, deployment }: Pick<TickContext, "records" | "deployment">,
): Loss | null {
  const known = records.get("node")?.node;
  if (found.metadata?.uid !== known?.metadata?.uid) {
    return { phase: "node deleted", reason: "a Node of another uid has the name" };
  }
  const refusal = ownershipFault(found, deployment);
  if (refusal !== null) return { phase: "name taken", reason: refusal };
  const other = known ? foreignHeartbeat(found, known, deployment) : null;
  return other === null ? null : { phase: "name taken", reason: `${other} writes the Node's heartbeat` };
}

export function registeredUid(records: NodeRecordStore): string | undefined {
  return records.get("node")?.node.metadata?.uid;
}

/** A 404 alone does not prove it: a missing namespace, path or API causes one as well. */
export function isNodeMissing(error: ApiError, name: string): boolean {
  if (error.kind !== "status" || !isNotFound(error)) return false;
  const { details } = error.status;
  return details?.kind === "nodes" && details.name === name;
}

/** The failure of every step once the Node is lost. */
export function loss(context: Pick<TickContext, "lost">, lost: Loss): Failure<ApiError> {
  context.lost = lost;
  return failure({ kind: "unanswered", message: `${lost.phase}: ${lost.reason}` });
}

/**
 * Whether a deleted Node comes back, register-again.ts decides. Where the Node is never created here, the machine waits
 * for it; a taken one is checked from time to time.
 */
export function recordLoss(
  context: LossContext,
  { phase: lost, reason }: Loss,
): LostPhase | "waiting for Node" {
  const { records, report, journal, memory, log, facts } = context;
  const phase = lost === "node deleted" && facts.settings.registerNode === false ? "waiting for Node" : lost;
  const nowMs = context.nowMs();
  const known = records.get("registration");
  if (known?.phase !== phase || known.startId !== report.startId) {
    log(`the Node is lost: ${phase}: ${reason}`);
    if (phase === "name taken")
      journal.warn("NodeNameTaken", `The Node is no longer written: ${reason}`, nowMs);
    else journal.note("registration", `the Node is lost: ${reason}`, nowMs);
  }
  if (phase === "node deleted") {
    const deleted = { nowMs, createdAtMs: known?.createdAtMs, wasReady: wasReady(records) };
    records.put("deletion", deletionAfter(records.get("deletion"), deleted));
  }
  const { enrolmentId, taints, formerTaints } = known ?? {};
  records.put("registration", {
    startId: report.startId,
    phase,
    ...(enrolmentId !== undefined && { enrolmentId }),
    ...(taints && { taints }),
    ...(formerTaints && { formerTaints }),
  });
  memory.lookedAtMs = nowMs;
  return phase;
}

/**
 * From here on the Node is read before it is relied on: a write had an unknown outcome, or the node controller may have
 * set conditions. This is in SQLite, since a later renewal of the lease would hide it from an object that was evicted.
 */
export function distrustKnownNode(records: NodeRecordStore): void {
  const known = records.get("node");
  if (!known || known.readAgain) return;
  records.put("node", { ...known, readAgain: true });
}

/** The same where it is known that its lease had run out, or that its machine was silent. */
export function noteLapse(records: NodeRecordStore): void {
  const known = records.get("node");
  if (!known || (known.readAgain && known.hasLapsed)) return;
  records.put("node", { ...known, readAgain: true, hasLapsed: true });
}
