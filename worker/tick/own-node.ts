// Reads this machine's Node, and detects that it is no longer the one that was registered, or no longer ours. Writes
// nothing to the apiserver: it is not for this machine to decide about such a Node.
import { byOthers, transitions } from "../../shared/fleet/condition-lines.ts";
import { type ApiError, type ApiResult, isNotFound } from "../../shared/kubernetes/api-error.ts";
import { fieldOwners } from "../../shared/kubernetes/managed-fields.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import type { Lease, Node, NodeCondition, ObjectMeta } from "../../shared/kubernetes/types.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { adoptionPatch, isOfferedTo, ownershipFault } from "../../shared/node/ownership.ts";
import { failure, type Failure } from "../../shared/result.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { LostPhase, NodeRecords, NodeRecordStore } from "../storage/records.ts";
import type { Loss, TickContext } from "./context.ts";
import { deletionAfter, wasReady } from "./register-again.ts";

type OwnNodeContext = Pick<TickContext, "name" | "records" | "deployment" | "lost">;

/** `report`: the process of the shim for which the loss counts. */
type LossContext = Pick<TickContext, "records" | "journal" | "memory" | "log" | "facts" | "nowMs"> & {
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
function lossOf(
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
function loss(context: Pick<TickContext, "lost">, lost: Loss): Failure<ApiError> {
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

// Finds who else writes this machine's lease and Node, by their managedFields. Where an apiserver does not record who
// owns a field, it counts as written by nobody else.

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
function isRenewedBy(lease: Lease, deployment: string): boolean {
  return fieldOwners(lease.metadata, RENEW_TIME).includes(fieldManagerOf(deployment));
}

/** Who has written a heartbeat since `known` was read; null where nobody else has. */
function foreignHeartbeat(found: Node, known: Node, deployment: string): string | null {
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

// Checks an existing Node before it is registered: is it ours, offered to us, or kept alive by someone else? Adopts an
// offered one; writes nothing else.

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

// Takes a Node as somebody else has changed it, when the cluster's object has noticed that: between reports, and without
// a request where the Node came with the notice. Writes nothing to the apiserver.

export type NoticeContext = OwnNodeContext & LossContext;

export type Noticed =
  /** It is what was known, or not this machine's to know. */
  | { kind: "passed over" }
  /** The apiserver could not be asked: the next report reads the Node. */
  | { kind: "unread" }
  | { kind: "taken"; isGivenUp: boolean }
  | { kind: "lost"; phase: LostPhase | "waiting for Node" };

/** `seen`: as the watch has it; null: gone from the list, or to be read in any case. */
export async function takeNotice(
  context: NoticeContext,
  client: () => KubeClient,
  seen: Node | null,
): Promise<Noticed> {
  const { records, memory } = context;
  const registered = records.get("registration")?.phase;
  // A taken name may have become free: the next report looks.
  if (registered === "name taken") delete memory.lookedAtMs;
  const known = records.get("node");
  if (registered !== "registered" || !known) return { kind: "passed over" };
  const version = memory.nodeVersion ?? known.node.metadata?.resourceVersion;
  if (seen !== null && seen.metadata?.resourceVersion === version) return { kind: "passed over" };
  let found = seen;
  if (found !== null && isNewer(found, version)) {
    const lost = lossOf(found, context);
    if (lost) context.lost = lost;
  } else {
    const read = await readOwnNode(context, client());
    if (!read.ok && !context.lost) {
      distrustKnownNode(records);
      return { kind: "unread" };
    }
    found = read.ok ? read.value : null;
  }
  if (context.lost) return { kind: "lost", phase: recordLoss(context, context.lost) };
  return found === null ? { kind: "unread" } : take(context, known, found);
}

function take(
  { records, journal, memory, nowMs }: NoticeContext,
  known: NodeRecords["node"],
  node: Node,
): Noticed {
  // What was sent may have been taken without an answer: history has that already, as decided here.
  const isOurs = ({ type, status }: NodeCondition) =>
    known.sent?.some((each) => each.type === type && each.status === status) ?? false;
  const others = conditionsOf(node).filter((condition) => !isOurs(condition));
  const changed = transitions(conditionsOf(known.node), others);
  for (const text of changed) journal.note("condition", byOthers(text), nowMs());
  // While it was read, a report may have noted that its lease had run out.
  records.put("node", { ...(records.get("node") ?? known), node });
  memory.nodeVersion = node.metadata?.resourceVersion;
  const isGivenUp = readyConditionOf(node)?.status === "Unknown";
  // The node controller has: the lease had run out.
  if (isGivenUp) noteLapse(records);
  return { kind: "taken", isGivenUp };
}

/** Versions of one kind of object grow. Where that cannot be seen, or the cluster was restored, the Node is read. */
function isNewer({ metadata }: Node, known: string | undefined): boolean {
  return Number(metadata?.resourceVersion) > Number(known);
}

const conditionsOf = ({ status }: Node) => status?.conditions ?? [];
