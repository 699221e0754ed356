// Removes a machine that leaves, or that an operator forgets: its keys are refused for ever, then its lease and Node
// are deleted where they are this deployment's. Safe to repeat; an alarm completes a removal that was interrupted.
import { type ApiError, type ApiResult, isNotFound } from "../../shared/kubernetes/api-error.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { ownershipFault } from "../../shared/node/ownership.ts";
import type { LeaveAnswer } from "../../shared/protocol/answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { Environment } from "../env.ts";
import type { RequestKind, KubeClient } from "../kube/kube-client.ts";
import { machineLog } from "../log.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { foreignRenewer } from "../tick/other-writers.ts";
import { isNodeMissing, registeredUid } from "../tick/own-node.ts";
import { ASKED_TOO_OFTEN, type Refusal } from "./answers.ts";
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
    const { state, upkeep, registry, offerTicket } = this.#with;
    const { records, keys } = state;
    // What is overdrawn comes back; an operator's word does not wait for it.
    if (!("operator" in by || upkeep.mayRemove())) return ASKED_TOO_OFTEN;
    const unpinned =
      "operator" in by
        ? await registry().unpin(name, "machine.forget", by.operator)
        : await registry().leave(name, records.get("enrolment")?.generation ?? 0, by.thumbprint);
    if (!unpinned.ok) return LEFT;
    const isEnrolled = keys.outdate(unpinned.value);
    // A machine that enrolled later stays.
    if (!isEnrolled && records.get("enrolment")) return LEFT;
    records.put("isLeaving", "operator" in by ? "forgotten" : true);
    if (!isEnrolled) return LEFT;
    // A tick in progress would create again what is removed.
    await upkeep.finish();
    await upkeep.flush(name);
    if (!(await this.#removeFromCluster(name))) {
      await this.#tryAgain();
      return failure({ reason: "not-removed", ticket: offerTicket() });
    }
    return LEFT;
  }

  async #resume(name: string, forget: () => Promise<void>): Promise<void> {
    const removed = this.#removeFromCluster(name).catch((error: unknown) => {
      // An alarm that fails is given up in minutes.
      console.error(JSON.stringify({ node: name, message: "removal failed", error: String(error) }));
      return false;
    });
    return (await removed) ? forget() : this.#tryAgain();
  }

  /** false: something may be left. */
  async #removeFromCluster(name: string): Promise<boolean> {
    const { env, state, upkeep } = this.#with;
    const nowMs = () => Date.now();
    const spend = (what: RequestKind) => {
      upkeep.spend(what);
      return true;
    };
    const cluster = { env, records: state.records, nowMs, client: upkeep.connector(spend) };
    const removed = await removeFromCluster(cluster, name);
    const isForgotten = state.records.get("isLeaving") === "forgotten";
    if (removed.ok) machineLog(name)(isForgotten ? "forgotten by an operator" : "left");
    else machineLog(name)(isForgotten ? "not forgotten yet" : "has not left yet", removed.error);
    return removed.ok;
  }

  #tryAgain(): Promise<void> {
    return this.#with.state.alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
  }
}

/** Two GETs and two DELETEs. */
const WITHIN_MS = 4000;

interface Cluster {
  env: Environment;
  records: NodeRecordStore;
  /** Date.now */
  nowMs: () => number;
  client: (withinMs: number) => KubeClient;
}

/**
 * Succeeds once nothing of ours is left; else the error is the apiserver's. Looks twice: a write that had no answer in time
 * may take effect after the first look.
 */
async function removeFromCluster(cluster: Cluster, name: string): Promise<Result<null, ApiError>> {
  const removed = await removeWhatIsThere(cluster, name);
  return removed.ok ? removeWhatIsThere(cluster, name) : removed;
}

async function removeWhatIsThere(
  { env, records, nowMs, client: connect }: Cluster,
  name: string,
): Promise<Result<null, ApiError>> {
  const { DEPLOYMENT: deployment } = env;
  const knownUid = registeredUid(records);
  // Without an apiserver there is nothing to remove, unless there once was one.
  if (!env.KUBE_URL && knownUid === undefined) return success(null);
  const client = connect(WITHIN_MS);
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
