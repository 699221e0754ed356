// Reads this machine's Node and lease, and detects a change of owner. A lost Node is recorded, never written.
import { byOthers, transitions } from "../../shared/fleet/history-lines.ts";
import { type ApiError, type ApiResult, isNotFound } from "../../shared/kubernetes/api-error.ts";
import { fieldOwners, otherOwner } from "../../shared/kubernetes/managed-fields.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import type { Lease, Node, NodeCondition } from "../../shared/kubernetes/types.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { adoptionPatch, isOfferedTo, ownershipFault } from "../../shared/node/ownership.ts";
import type { RegistrationFailure } from "../../shared/node/registration.ts";
import { failure, type Failure, type Result, success } from "../../shared/result.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { MachineLog } from "../log.ts";
import type { Stored } from "../storage/journal.ts";
import type { Enrolment, LostPhase, NodeRecords, NodeRecordStore } from "../storage/records.ts";
import { deletionAfter, wasReady } from "./register-again.ts";

/** The reason why a Node is no longer written. */
export interface Loss {
  phase: LostPhase;
  /** The reason in words, for the log, the history and an event. */
  reason: string;
}

/** The machine whose Node is read. */
interface NodeOwner {
  name: string;
  deployment: string;
  records: NodeRecordStore;
  nowMs: () => number;
}

/** Reads Node and lease for functions of shared/, which only know the apiserver's errors. Keeps a loss in `lost`. */
export class OwnReader {
  readonly #owner: NodeOwner;
  readonly #client: Pick<KubeClient, "getNode" | "getLease">;
  /** Present once the Node or the lease belongs to another writer. From then on the Node is not read. */
  lost: Loss | undefined;

  constructor(owner: NodeOwner, client: Pick<KubeClient, "getNode" | "getLease">) {
    this.#owner = owner;
    this.#client = client;
  }

  /** Returns the Node if it is the registered Node and belongs to this deployment; otherwise records the loss. */
  async readNode(fromCache = false): Promise<ApiResult<Node>> {
    if (this.lost) return this.#lose(this.lost);
    const { name } = this.#owner;
    const found = await this.#client.getNode(name, fromCache);
    if (found.ok) {
      const lost = lossOf(found.value, this.#owner);
      return lost === null ? found : this.#lose(lost);
    }
    const isGone = isNodeMissing(found.error, name);
    return isGone ? this.#lose({ phase: "node deleted", reason: "the Node is gone" }) : found;
  }

  /** Returns the lease unless another writer renews it; otherwise records the loss. */
  async readLease(): Promise<ApiResult<Lease>> {
    const { name, deployment, nowMs } = this.#owner;
    const found = await this.#client.getLease(NODE_LEASE_NAMESPACE, name);
    const other = found.ok ? foreignRenewer(found.value, deployment, nowMs()) : null;
    return other === null ? found : this.#lose({ phase: "name taken", reason: `${other} renews the lease` });
  }

  #lose(lost: Loss): Failure<ApiError> {
    this.lost = lost;
    return failure({ kind: "unanswered", message: `${lost.phase}: ${lost.reason}` });
  }
}

/** Returns why the Node is no longer this machine's; null if the Node still is. Another uid is always a loss. */
function lossOf(found: Node, { records, deployment }: NodeOwner): Loss | null {
  const known = records.get("node")?.node;
  if (found.metadata?.uid !== known?.metadata?.uid)
    return { phase: "node deleted", reason: "a Node of another uid has the name" };
  const refusal = ownershipFault(found, deployment);
  if (refusal !== null) return { phase: "name taken", reason: refusal };
  const other = known ? foreignHeartbeat(found, known, deployment) : null;
  return other === null ? null : { phase: "name taken", reason: `${other} writes the Node's heartbeat` };
}

export function registeredUid(records: NodeRecordStore): string | undefined {
  return records.get("node")?.node.metadata?.uid;
}

/** Returns true if this Node is missing. A 404 alone is no proof: a missing namespace, path or API causes a 404 too. */
export function isNodeMissing(error: ApiError, name: string): boolean {
  if (error.kind !== "status" || !isNotFound(error)) return false;
  const { details } = error.status;
  return details?.kind === "nodes" && details.name === name;
}

interface LosingMachine extends Stored {
  /** The process of the shim for which the loss is recorded. */
  report: { startId: string };
  facts: { settings: { registerNode?: boolean | undefined } };
  log: MachineLog;
  nowMs: () => number;
}

/** Stores the loss and returns the resulting phase. register-again.ts decides whether the Node is registered again. */
export function recordLoss(
  { records, report, journal, log, facts, ...machine }: LosingMachine,
  { phase: lost, reason }: Loss,
): LostPhase | "waiting for Node" {
  const phase = lost === "node deleted" && facts.settings.registerNode === false ? "waiting for Node" : lost;
  const nowMs = machine.nowMs();
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
  return phase;
}

/**
 * Marks the known Node to be read before the next decision: a write had an unknown outcome, or the node controller may
 * have set conditions. The mark is in SQLite, because after a renewal of the lease an evicted object sees no reason.
 */
export function distrustKnownNode(records: NodeRecordStore): void {
  const known = records.get("node");
  if (!known || known.readAgain) return;
  records.put("node", { ...known, readAgain: true });
}

/** Marks the known Node to be read again, because its lease has expired or its machine was silent. */
export function noteLapse(records: NodeRecordStore): void {
  const known = records.get("node");
  if (!known || (known.readAgain && known.hasLapsed)) return;
  records.put("node", { ...known, readAgain: true, hasLapsed: true });
}

// If the apiserver does not record field managers, no other writer is found.
const RENEW_TIME = ["f:spec", "f:renewTime"];
const READY_HEARTBEAT = ["f:status", "f:conditions", 'k:{"type":"Ready"}', "f:lastHeartbeatTime"];

/** Returns the other writer that renews the lease; null if none does, or the last renewal has expired. */
export function foreignRenewer(lease: Lease, deployment: string, nowMs: number): string | null {
  const other = otherOwner(lease.metadata, RENEW_TIME, fieldManagerOf(deployment));
  const { renewTime, leaseDurationSeconds = 0 } = lease.spec ?? {};
  if (other === null || renewTime === undefined) return null;
  // A renewTime ahead of this clock counts as recent as well.
  return nowMs - parseMicroTime(renewTime) / 1000 < leaseDurationSeconds * 1000 ? other : null;
}

/** Returns the other writer that has written a heartbeat since `known` was read; null if no other writer has. */
function foreignHeartbeat(found: Node, known: Node, deployment: string): string | null {
  if (heartbeatMs(found) <= heartbeatMs(known)) return null;
  return otherOwner(found.metadata, READY_HEARTBEAT, fieldManagerOf(deployment));
}

function heartbeatMs(node: Node): number {
  return Date.parse(readyConditionOf(node)?.lastHeartbeatTime ?? "") || 0;
}

interface ClaimingMachine extends NodeOwner, Stored {
  enrolment: Pick<Enrolment, "withoutFactsOnlyTaint">;
  client: (withinMs: number) => KubeClient;
}

/** The time limit for reading the lease: an unreadable lease must not keep an owned Node from being registered. */
const LEASE_READ_MS = 1000;

/** Checks that an existing Node may be registered. Adopts a Node that an operator has offered to this deployment. */
export async function claimNode(
  machine: ClaimingMachine,
  client: Pick<KubeClient, "patchNode">,
  existing: Node,
): Promise<Result<{ node: Node; lease?: Lease }, RegistrationFailure>> {
  const { deployment } = machine;
  const fault = ownershipFault(existing, deployment);
  if (fault !== null && !isOfferedTo(existing, deployment))
    return failure({ reason: "not ours", message: fault });
  const own = new OwnReader(machine, machine.client(LEASE_READ_MS));
  const lease = await own.readLease();
  if (own.lost) return failure({ reason: "not ours", message: own.lost.reason });
  if (fault === null) return success({ node: existing, ...(lease.ok && { lease: lease.value }) });
  if (!lease.ok && !isNotFound(lease.error))
    return failure({ reason: "request failed", step: "get", error: lease.error });
  // An operator who offers a Node deletes the Node's lease. If a lease exists again, another writer renews that lease.
  if (lease.ok && !fieldOwners(lease.value.metadata, RENEW_TIME).includes(fieldManagerOf(deployment)))
    return failure({ reason: "not ours", message: "the Node is offered, but its lease is still there" });
  return adopt(machine, client, existing);
}

async function adopt(
  { deployment, enrolment, journal, nowMs }: ClaimingMachine,
  client: Pick<KubeClient, "patchNode">,
  offered: Node,
): Promise<Result<{ node: Node }, RegistrationFailure>> {
  const patch = adoptionPatch(offered, deployment, enrolment.withoutFactsOnlyTaint);
  const adopted = await client.patchNode(offered, patch);
  if (!adopted.ok) return failure({ reason: "request failed", step: "get", error: adopted.error });
  journal.note("registration", "Node adopted", nowMs());
  const fault = ownershipFault(adopted.value, deployment);
  return fault === null ? success({ node: adopted.value }) : failure({ reason: "not ours", message: fault });
}

export type Noticed =
  /** The notice brings no news: the Node is unchanged, or is not this machine's. */
  | { kind: "passed over" }
  /** The apiserver did not return the Node, so the next report reads it. */
  | { kind: "unread" }
  | { kind: "taken"; isGivenUp: boolean; nodeVersion: string | undefined }
  | { kind: "lost"; lost: Loss };

/** Stores a Node that another writer changed between reports. Reads the Node only if the notice came without it. */
export async function takeNotice(
  machine: NodeOwner & Stored,
  client: () => KubeClient,
  seen: Node | null, // the Node as the watch has it; null if the Node must be read
  knownVersion: string | undefined, // the version of the Node that was last read or written; undefined for the stored version
): Promise<Noticed> {
  const { records } = machine;
  const known = records.get("node");
  if (records.get("registration")?.phase !== "registered" || !known) return { kind: "passed over" };
  const version = knownVersion ?? known.node.metadata?.resourceVersion;
  if (seen !== null && seen.metadata?.resourceVersion === version) return { kind: "passed over" };
  if (seen !== null && isNewer(seen, version)) {
    const lost = lossOf(seen, machine);
    return lost === null ? take(machine, known, seen) : { kind: "lost", lost };
  }
  const own = new OwnReader(machine, client());
  const read = await own.readNode();
  if (own.lost) return { kind: "lost", lost: own.lost };
  if (read.ok) return take(machine, known, read.value);
  distrustKnownNode(records);
  return { kind: "unread" };
}

function take(
  { deployment, records, journal, nowMs }: NodeOwner & Stored,
  known: NodeRecords["node"],
  node: Node,
): Noticed {
  // The conditions of a patch without an answer may be on the Node. History has their changes since the decision.
  const isOurs = ({ type, status }: NodeCondition) =>
    known.sent?.some((each) => each.type === type && each.status === status) ?? false;
  const others = conditionsOf(node).filter((condition) => !isOurs(condition));
  const writerOf = (type: string) => {
    const status = ["f:status", "f:conditions", `k:{"type":${JSON.stringify(type)}}`, "f:status"];
    return otherOwner(node.metadata, status, fieldManagerOf(deployment));
  };
  const before = conditionsOf(known.node);
  for (const condition of others)
    for (const text of transitions(before, [condition]))
      journal.note("condition", byOthers(text, writerOf(condition.type)), nowMs());
  // While the Node was read, a report may have recorded in this row that the lease has expired.
  records.put("node", { ...(records.get("node") ?? known), node });
  const isGivenUp = readyConditionOf(node)?.status === "Unknown";
  // The node controller sets Ready to Unknown when the lease has expired.
  if (isGivenUp) noteLapse(records);
  return { kind: "taken", isGivenUp, nodeVersion: node.metadata?.resourceVersion };
}

/**
 * Returns true if the Node is newer than the known version. The versions of one kind of object rise. If a version is no
 * number, or the cluster was restored, the result is false and the Node is read.
 */
function isNewer({ metadata }: Node, known: string | undefined): boolean {
  return Number(metadata?.resourceVersion) > Number(known);
}

const conditionsOf = ({ status }: Node) => status?.conditions ?? [];
