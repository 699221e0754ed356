// Removes a machine that leaves, or that an operator forgets: its keys are refused for ever, then its lease and Node
// are deleted where they are this deployment's. Safe to repeat; an alarm completes a removal that was interrupted.
import { type ApiError, type ApiResult, isNotFound } from "../../shared/kubernetes/api-error.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { ownershipFault } from "../../shared/node/ownership.ts";
import type { LeaveAnswer } from "../../shared/protocol/answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { Environment } from "../env.ts";
import { kubeConnector } from "../kube/connect.ts";
import { machineLog } from "../log.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { foreignRenewer } from "../tick/other-writers.ts";
import { isNodeMissing, registeredUid } from "../tick/own-node.ts";
import type { Refusal } from "./answers.ts";
import type { MachineState } from "./machine-state.ts";
import type { Registry } from "./registry-standing.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";
import type { Upkeep } from "./upkeep.ts";

const LEFT = success<LeaveAnswer>({ left: true });

/** Who removes the machine: an operator, or the machine itself with this key. */
export type RemovedBy = { operator: string } | { thumbprint: string };

export interface RemovalDependencies {
  env: Environment;
  state: MachineState;
  upkeep: Upkeep;
  registry: () => Pick<Registry, "unpin" | "leave">;
  /** For a machine that has to repeat its request. */
  offerTicket: () => string;
}

export class Removal {
  readonly #with: RemovalDependencies;
  #underWay: Promise<unknown> | undefined;

  constructor(dependencies: RemovalDependencies) {
    this.#with = dependencies;
  }

  /** An enrolment waits for it, so that a removal does not delete the next machine's Node. */
  async finished(): Promise<void> {
    await this.#underWay?.catch(() => undefined);
  }

  /**
   * Also succeeds where nothing is left to remove. After a success the object may be forgotten. From here on reports
   * are refused. `by`: for the log of operators, or of machines.
   */
  remove(name: string, by: RemovedBy): Promise<Result<LeaveAnswer, Refusal>> {
    return this.#tracked(this.#remove(name, by));
  }

  /** For an alarm: the machine may be gone, so that nobody repeats the request. */
  resume(name: string, forget: () => Promise<void>): Promise<void> {
    return this.#tracked(this.#resume(name, forget));
  }

  #tracked<T>(removal: Promise<T>): Promise<T> {
    this.#underWay = removal;
    return removal;
  }

  async #remove(name: string, by: RemovedBy): Promise<Result<LeaveAnswer, Refusal>> {
    const { env, state, upkeep, registry, offerTicket } = this.#with;
    const { records, keys } = state;
    const unpinned =
      "operator" in by
        ? await registry().unpin(name, "machine.leave", by.operator)
        : await registry().leave(name, records.get("enrolment")?.generation ?? 0, by.thumbprint);
    if (!unpinned.ok) return LEFT;
    const isEnrolled = keys.outdate(unpinned.value);
    // A machine that enrolled later stays.
    if (!isEnrolled && records.get("enrolment")) return LEFT;
    records.put("isLeaving", true);
    if (!isEnrolled) return LEFT;
    // A tick in progress would create again what is removed.
    await upkeep.finish();
    await upkeep.flush(name);
    const removed = await removeFromCluster(env, records, name, () => Date.now());
    if (!removed.ok) {
      machineLog(name)("not removed", removed.error);
      await this.#tryAgain();
      return failure({ reason: "not-removed", ticket: offerTicket() });
    }
    machineLog(name)("left");
    return LEFT;
  }

  async #resume(name: string, forget: () => Promise<void>): Promise<void> {
    const { env, state } = this.#with;
    const removed = await removeFromCluster(env, state.records, name, () => Date.now());
    if (!removed.ok) return this.#tryAgain();
    machineLog(name)("left");
    return forget();
  }

  #tryAgain(): Promise<void> {
    return this.#with.state.alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
  }
}

/** Two GETs and two DELETEs. */
const WITHIN_MS = 4000;

/**
 * Succeeds once nothing of ours is left; else the error is the apiserver's. Looks twice: a write that had no answer in time
 * may take effect after the first look.
 */
async function removeFromCluster(
  env: Environment,
  records: NodeRecordStore,
  name: string,
  nowMs: () => number, // Date.now
): Promise<Result<null, ApiError>> {
  const removed = await removeWhatIsThere(env, records, name, nowMs);
  return removed.ok ? removeWhatIsThere(env, records, name, nowMs) : removed;
}

async function removeWhatIsThere(
  env: Environment,
  records: NodeRecordStore,
  name: string,
  nowMs: () => number, // Date.now
): Promise<Result<null, ApiError>> {
  const { DEPLOYMENT: deployment } = env;
  const knownUid = registeredUid(records);
  // Without an apiserver there is nothing to remove, unless there once was one.
  if (env.KUBE_URL === "" && knownUid === undefined) return success(null);
  const client = kubeConnector(env, nowMs)(WITHIN_MS);
  const node = await client.getNode(name);
  if (!node.ok && !isNodeMissing(node.error, name)) return node;
  const lease = await client.getLease(NODE_LEASE_NAMESPACE, name);
  if (!lease.ok && !isNotFound(lease.error)) return lease;
  // Somebody else renews the lease: the Node is theirs by now.
  if (lease.ok && foreignRenewer(lease.value, deployment, nowMs()) !== null) return success(null);

  const ourUid =
    node.ok && ownershipFault(node.value, deployment) === null ? node.value.metadata?.uid : undefined;
  if (lease.ok) {
    const { uid = "", ownerReferences = [] } = lease.value.metadata ?? {};
    const isOurs = ownerReferences.some((owner) => owner.uid === (ourUid ?? knownUid));
    const deleted = isOurs ? deletion(await client.deleteLease(NODE_LEASE_NAMESPACE, name, uid)) : null;
    if (deleted && !deleted.ok) return deleted;
  }
  return ourUid === undefined ? success(null) : deletion(await client.deleteNode(name, ourUid));
}

function deletion(answer: ApiResult<unknown>): Result<null, ApiError> {
  return answer.ok || isNotFound(answer.error) ? success(null) : answer;
}
