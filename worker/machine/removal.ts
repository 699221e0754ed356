// Removes a machine that leaves or that an operator forgets, or only the Node of a machine that is silent for days.
// A removed machine's keys are refused for ever. Its lease and Node are deleted if this deployment owns them. Safe
// to repeat.
import { UNREADY } from "../../shared/fleet/unready.ts";
import { type ApiError, type ApiResult, isNotFound } from "../../shared/kubernetes/api-error.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { ownershipFault } from "../../shared/node/ownership.ts";
import type { LeaveAnswer } from "../../shared/protocol/answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { type Environment, removeSilentNodesDays } from "../env.ts";
import type { KubeClient, RequestKind } from "../kube/kube-client.ts";
import { logFailure, type LogMessage, machineLog } from "../log.ts";
import type { MachineOrder } from "../registry/bulk.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { foreignRenewer, isNodeMissing, registeredUid } from "../tick/own-node.ts";
import { ASKED_TOO_OFTEN, FORGOTTEN, type Refusal } from "./answers.ts";
import { phaseAfter, recordPhase } from "../tick/phase.ts";
import type { IndexUpdates } from "./index-updates.ts";
import type { Lending } from "./lease-holder.ts";
import type { MachineState } from "./machine-state.ts";
import type { Registry } from "./registry-status.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";
import type { Upkeep } from "./upkeep.ts";

/** The time limit for a removal's requests: two GETs and two DELETEs. */
const WITHIN_MS = 4000;
const GONE = success({ isGone: true });
const LEFT = success<LeaveAnswer>({ left: true });

/** The remover: an operator, the machine itself with this key, or the registry, which has unpinned the name. */
export type RemovedBy = { operator: string } | { thumbprint: string } | { unpinned: number };

export interface RemovalDependencies {
  env: Environment;
  state: MachineState;
  upkeep: Upkeep;
  registry: () => Pick<Registry, "unpin" | "leave">;
  /** Returns a ticket for a machine that must repeat its request. */
  offerTicket: () => string;
  /** The methods that stop a gateway from renewing the lease. `end` also closes the machine's sockets. */
  lending: Pick<Lending, "withdraw" | "end">;
  ctx: Pick<DurableObjectState, "storage" | "abort">;
  index: Pick<IndexUpdates, "remove" | "update">;
}

export class Removal {
  readonly #with: RemovalDependencies;
  #underWay: Promise<unknown> | undefined;

  constructor(dependencies: RemovalDependencies) {
    this.#with = dependencies;
  }

  /** Resolves once no removal is in progress. An enrolment waits for that, to keep the new machine's Node. */
  async finished(): Promise<void> {
    await this.#underWay?.catch(() => undefined);
  }

  /** Removes the machine from registry and cluster, and refuses its reports. After a success, call `forget`. */
  remove(name: string, by: RemovedBy): Promise<Result<LeaveAnswer, Refusal>> {
    return this.#tracked(async () => {
      const { state, upkeep, offerTicket, lending } = this.#with;
      const { records, keys } = state;
      // A machine waits until its request budget has refilled. An operator does not wait.
      if ("thumbprint" in by && !upkeep.mayRemove()) return ASKED_TOO_OFTEN;
      const unpinned = await this.#unpin(name, by);
      if (!unpinned.ok) return LEFT;
      const isEnrolled = keys.outdate(unpinned.value);
      // The machine has enrolled again after this removal began, so the machine stays.
      if (!isEnrolled && records.get("enrolment")) return LEFT;
      records.put("isLeaving", "thumbprint" in by ? true : "forgotten");
      if (!isEnrolled) return LEFT;
      await lending.end("left");
      // A tick that is in progress could create the Node again after the removal.
      await upkeep.finish();
      await upkeep.flush(name);
      if (await this.#removeFromCluster(name)) return LEFT;
      await this.#tryAgain();
      return failure({ reason: "not-removed", ticket: offerTicket() });
    });
  }

  /** Continues a removal and forgets the machine. The alarm calls `resume`: the machine may not repeat its request. */
  resume(name: string): Promise<void> {
    return this.#tracked(async () => {
      const removed = this.#endAndRemove(name).catch((error: unknown) => {
        // The error is caught, because the platform drops an alarm whose handler fails for minutes.
        logFailure({ node: name, message: "removal failed", error: String(error) });
        return false;
      });
      if (!(await removed)) return this.#tryAgain();
      if (await this.#isRemovalSent()) await this.#erase();
    });
  }

  /** Removes only the lease and the Node; the machine stays enrolled. Returns false if one of them may be left. */
  removeNode(name: string): Promise<boolean> {
    return this.#tracked(async () => {
      const { upkeep, lending } = this.#with;
      await lending.withdraw();
      await upkeep.finish();
      const words = ["its Node was removed: silent", "its Node is not removed yet"] as const;
      const isRemoved = await this.#removeFromCluster(name, words);
      // A tick that began during the removal must end before the removal is recorded.
      await upkeep.finish();
      return isRemoved;
    });
  }

  /** Forgets the machine unless it has enrolled again. Keeps the name's request budget until it has refilled. */
  async forget(): Promise<void> {
    const { state, upkeep } = this.#with;
    if (!(await this.#isRemovalSent())) return;
    // A machine that enrols at once must find the name's request budget, so the alarm erases the budget later.
    const leftMs = state.records.get("enrolment") ? upkeep.keepRequests() : 0;
    await (leftMs > 0 ? state.alarm.atLatest(currentMs() + leftMs) : this.#erase());
  }

  /** Reports the removal to the index; returns false if the alarm must repeat the report, or a machine is enrolled. */
  async #isRemovalSent(): Promise<boolean> {
    const { records } = this.#with.state;
    const [enrolment, isLeaving] = [records.get("enrolment"), records.get("isLeaving")];
    if (!enrolment) return true;
    if (!isLeaving) return false;
    const text = isLeaving === "forgotten" ? "forgotten by an operator" : "left";
    const isSent = await this.#with.index.remove(enrolment, text);
    return isSent && records.get("isLeaving") !== undefined;
  }

  async #erase(): Promise<void> {
    const { ctx } = this.#with;
    await ctx.storage.deleteAlarm();
    await ctx.storage.deleteAll();
    await ctx.storage.sync();
    // The object aborts itself, so that no other call writes to the erased storage.
    ctx.abort(FORGOTTEN);
  }

  #tracked<T>(remove: () => Promise<T>): Promise<T> {
    const removal = remove();
    this.#underWay = removal;
    return removal;
  }

  #unpin(name: string, by: RemovedBy): Promise<Result<number>> {
    const { state, registry } = this.#with;
    if ("unpinned" in by) return Promise.resolve(success(by.unpinned));
    return "operator" in by
      ? registry().unpin(name, "machine.forget", by.operator)
      : registry().leave(name, state.records.get("enrolment")?.generation ?? 0, by.thumbprint);
  }

  /** Repeats a removal that may only have refused the keys. Returns false if a lease or Node may be left. */
  async #endAndRemove(name: string): Promise<boolean> {
    await this.#with.lending.end("left");
    return this.#removeFromCluster(name);
  }

  /** Deletes the lease and the Node; returns false if a lease or Node of this deployment may be left. */
  async #removeFromCluster(
    name: string,
    words?: readonly [done: LogMessage, not: LogMessage],
  ): Promise<boolean> {
    const { env, state, upkeep } = this.#with;
    const spend = (what: RequestKind) => {
      upkeep.spend(what);
      return true;
    };
    const connect = upkeep.connector(spend);
    // A NodeFeature that this leaves goes with the Node, which is its owner.
    await upkeep.publish();
    const remove = () => removeWhatIsThere(env, state.records, () => connect(WITHIN_MS), name);
    const first = await remove();
    // A write without an answer in time may have taken effect after the removal's first check: the removal is repeated.
    const removed = first.ok ? await remove() : first;
    const isForgotten = state.records.get("isLeaving") === "forgotten";
    const [done, not]: readonly [done: LogMessage, not: LogMessage] =
      words ??
      (isForgotten ? ["forgotten by an operator", "not forgotten yet"] : ["left", "has not left yet"]);
    if (removed.ok) machineLog(name)(done);
    else machineLog(name)(not, removed.error);
    if (removed.ok) state.records.remove("notRemoved");
    else if (!words) {
      state.records.put("notRemoved", phaseAfter(removed.error, state.records));
      this.#with.index.update();
    }
    // The Node of a machine that is only silent is Unknown already.
    if (!words && !(removed.ok && removed.value.isGone)) await upkeep.keepUnready(UNREADY.removed);
    return removed.ok;
  }

  #tryAgain(): Promise<void> {
    return this.#with.state.alarm.atLatest(currentMs() + SILENCE_CHECK_MS);
  }
}

/**
 * Deletes this deployment's lease and Node. Succeeds once neither is left; otherwise returns the apiserver's error.
 * `isGone`: false if another program's finalizer still keeps the deleted Node.
 */
async function removeWhatIsThere(
  { DEPLOYMENT: deployment, KUBE_URL }: Environment,
  records: NodeRecordStore,
  connect: () => KubeClient,
  name: string,
): Promise<Result<{ isGone: boolean }, ApiError>> {
  const knownUid = registeredUid(records);
  // Without a configured apiserver there is nothing to remove, unless the machine has registered earlier.
  if (!KUBE_URL && knownUid === undefined) return GONE;
  const client = connect();
  const node = await client.getNode(name);
  if (!node.ok && !isNodeMissing(node.error, name)) return node;
  const lease = await client.getLease(NODE_LEASE_NAMESPACE, name);
  if (!lease.ok && !isNotFound(lease.error)) return lease;
  // Another writer renews the lease, and so owns the Node.
  if (lease.ok && foreignRenewer(lease.value, deployment, currentMs()) !== null) return GONE;

  const ourUid =
    node.ok && ownershipFault(node.value, deployment) === null ? node.value.metadata?.uid : undefined;
  if (lease.ok) {
    const { uid = "", ownerReferences = [] } = lease.value.metadata ?? {};
    const isOurs = ownerReferences.some((owner) => owner.uid === (ourUid ?? knownUid));
    const deleted = isOurs ? deletion(await client.deleteLease(NODE_LEASE_NAMESPACE, name, uid)) : null;
    if (deleted && !deleted.ok) return deleted;
  }
  if (ourUid === undefined) return GONE;
  const deleted = deletion(await client.deleteNode(name, ourUid));
  const isHeld = node.ok && node.value.metadata?.deletionTimestamp !== undefined;
  return deleted.ok ? success({ isGone: !isHeld }) : deleted;
}

function deletion(answer: ApiResult<unknown>): Result<null, ApiError> {
  return answer.ok || isNotFound(answer.error) ? success(null) : answer;
}

export interface OrderDependencies {
  env: Environment;
  state: MachineState;
  removal: Pick<Removal, "remove" | "removeNode">;
  /** The bulk actions that an operator can also start for one machine. */
  acts: {
    revoke: (generation: number) => void | Promise<void>;
    registerAgain: () => boolean;
    believe: () => boolean;
  };
}

const DAY_MS = 24 * 3600 * 1000;
/** The time limit for the registry's call to `forget`. Afterwards the alarm forgets the machine. */
const FORGOTTEN_WITHIN_MS = 60_000;

/**
 * Executes this machine's part of a bulk action, unless the machine has enrolled later. Returns null if it is done,
 * else the reason why not. Safe to repeat. Throws if the registry should try again.
 */
export async function executeOrder(
  dependencies: OrderDependencies,
  name: string,
  { act, generation, unpinned }: MachineOrder,
): Promise<string | null> {
  const { state, removal, acts } = dependencies;
  const { records, alarm, keys } = state;
  if (act === "revoke") {
    await acts.revoke(unpinned);
    return null;
  }
  if (act === "forget") {
    const removed = await removal.remove(name, { unpinned });
    if (!removed.ok) return "its Node could not be removed yet: its object goes on trying";
    await alarm.atLatest(currentMs() + FORGOTTEN_WITHIN_MS);
    return null;
  }
  if (!keys.enrolled() || (records.get("enrolment")?.generation ?? 0) !== generation)
    return "its key has changed, or is refused by now";
  if (act === "register") return acts.registerAgain() ? null : "it has never registered";
  if (act === "believe") return acts.believe() ? null : "it is neither cloned nor two shims";
  return removeSilentNode(dependencies, name);
}

/** Removes a silent machine's Node; the next report registers the Node again. Returns null if done, else why not. */
async function removeSilentNode(
  { env, state, removal }: OrderDependencies,
  name: string,
): Promise<string | null> {
  const { records, journal, facts } = state;
  const days = removeSilentNodesDays(env);
  const silentSinceMs = records.get("silentSinceMs") ?? null;
  if (days === null || silentSinceMs === null || currentMs() - silentSinceMs < days * DAY_MS)
    return "it is not silent for so long any more";
  if (facts.current()?.settings.registerNode === false) return "it would not create its Node again";
  // An earlier attempt may have been interrupted after it recorded the deletion.
  const isOurs = records.get("deletion")?.silentDays !== undefined;
  const phase = records.get("registration")?.phase;
  if (phase !== "registered" && !(phase === "node deleted" && isOurs)) return "it has no Node";
  // The deletion is recorded first, so that the watch of the Nodes does not report another writer's deletion.
  noteRemoved(state, days);
  if (!(await removal.removeNode(name))) throw new Error("the Node could not be removed");
  // A report may have registered the machine during the removal. The record makes the next report register again.
  noteRemoved(state, days);
  const nowMs = currentMs();
  journal.note("registration", `the Node was removed after ${days} days of silence`, nowMs);
  recordPhase(state, "node deleted", nowMs);
  return null;
}

function noteRemoved({ records }: MachineState, silentDays: number): void {
  const registration = records.get("registration");
  if (!registration) return;
  records.put("deletion", { atMs: currentMs(), wasReady: false, waitMs: 0, soon: 0, silentDays });
  records.put("registration", { ...registration, phase: "node deleted" });
}
