// Removes a machine that leaves, or that an operator forgets: its keys are refused for ever, then its lease and Node
// are deleted where they are this deployment's. Safe to repeat; an alarm completes a removal that was interrupted.
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
import { recordPhase } from "../tick/phase.ts";
import type { IndexTeller } from "./index-updates.ts";
import type { Lending } from "./lending.ts";
import type { MachineState } from "./machine-state.ts";
import type { Registry } from "./registry-status.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";
import type { Upkeep } from "./upkeep.ts";

const LEFT = success<LeaveAnswer>({ left: true });

/** Who removes the machine: an operator, the machine itself with this key, or the registry, which has unpinned it. */
export type RemovedBy = { operator: string } | { thumbprint: string } | { unpinned: number };

export interface RemovalDependencies {
  env: Environment;
  state: MachineState;
  upkeep: Upkeep;
  registry: () => Pick<Registry, "unpin" | "leave">;
  /** For a machine that has to repeat its request. */
  offerTicket: () => string;
  /** Nobody else renews the lease after it; `end` closes the machine's sockets as well. */
  lending: Pick<Lending, "recall" | "end">;
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
    const { state, upkeep, offerTicket } = this.#with;
    const { records, keys } = state;
    // What is overdrawn comes back; an operator's word does not wait for it.
    if ("thumbprint" in by && !upkeep.mayRemove()) return ASKED_TOO_OFTEN;
    const unpinned = await this.#unpin(name, by);
    if (!unpinned.ok) return LEFT;
    const isEnrolled = keys.outdate(unpinned.value);
    // A machine that enrolled later stays.
    if (!isEnrolled && records.get("enrolment")) return LEFT;
    records.put("isLeaving", "thumbprint" in by ? true : "forgotten");
    if (!isEnrolled) return LEFT;
    await this.#with.lending.end("left");
    // A tick in progress would create again what is removed.
    await upkeep.finish();
    await upkeep.flush(name);
    if (!(await this.#removeFromCluster(name))) {
      await this.#tryAgain();
      return failure({ reason: "not-removed", ticket: offerTicket() });
    }
    return LEFT;
  }

  #unpin(name: string, by: RemovedBy): Promise<Result<number>> {
    const { state, registry } = this.#with;
    if ("unpinned" in by) return Promise.resolve(success(by.unpinned));
    return "operator" in by
      ? registry().unpin(name, "machine.forget", by.operator)
      : registry().leave(name, state.records.get("enrolment")?.generation ?? 0, by.thumbprint);
  }

  /** Removes lease and Node alone: the machine stays. false: something may be left. */
  removeNode(name: string): Promise<boolean> {
    return this.#tracked(this.#removeNode(name));
  }

  async #removeNode(name: string): Promise<boolean> {
    const { upkeep, lending } = this.#with;
    await lending.recall();
    await upkeep.finish();
    const isRemoved = await this.#removeFromCluster(name, [
      "its Node was removed: silent",
      "its Node is not removed yet",
    ]);
    // A tick that began meanwhile does not undo it any more.
    await upkeep.finish();
    return isRemoved;
  }

  async #resume(name: string, forget: () => Promise<void>): Promise<void> {
    const removed = this.#endAndRemove(name).catch((error: unknown) => {
      // An alarm that fails is given up in minutes.
      logFailure({ node: name, message: "removal failed", error: String(error) });
      return false;
    });
    return (await removed) ? forget() : this.#tryAgain();
  }

  /** What was interrupted may have come no further than that the keys are refused. */
  async #endAndRemove(name: string): Promise<boolean> {
    await this.#with.lending.end("left");
    return this.#removeFromCluster(name);
  }

  /** false: something may be left. */
  async #removeFromCluster(
    name: string,
    words?: readonly [done: LogMessage, not: LogMessage],
  ): Promise<boolean> {
    const { env, state, upkeep } = this.#with;
    const spend = (what: RequestKind) => {
      upkeep.spend(what);
      return true;
    };
    const cluster = { env, records: state.records, nowMs: currentMs, client: upkeep.connector(spend) };
    const removed = await removeFromCluster(cluster, name);
    const isForgotten = state.records.get("isLeaving") === "forgotten";
    const [done, not]: readonly [done: LogMessage, not: LogMessage] =
      words ??
      (isForgotten ? ["forgotten by an operator", "not forgotten yet"] : ["left", "has not left yet"]);
    if (removed.ok) machineLog(name)(done);
    else machineLog(name)(not, removed.error);
    return removed.ok;
  }

  #tryAgain(): Promise<void> {
    return this.#with.state.alarm.atLatest(currentMs() + SILENCE_CHECK_MS);
  }
}

/** Two GETs and two DELETEs. */
const WITHIN_MS = 4000;

interface Cluster {
  env: Environment;
  records: NodeRecordStore;
  /** currentMs */
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

// Forgets a machine that has left, in storage and in memory, once the fleet index knows. Removes nothing from the cluster.

export class Forgetting {
  readonly #ctx: DurableObjectState;
  readonly #state: Pick<MachineState, "records" | "alarm">;
  readonly #teller: Pick<IndexTeller, "remove">;

  constructor(
    ctx: DurableObjectState,
    state: Pick<MachineState, "records" | "alarm">,
    teller: Pick<IndexTeller, "remove">,
  ) {
    this.#ctx = ctx;
    this.#state = state;
    this.#teller = teller;
  }

  /** A machine that has enrolled again meanwhile stays. `keptForMs`: what it has used up is kept for so long. */
  async forget(keptForMs: () => number = () => 0): Promise<void> {
    if (!(await this.#isRemovalTold())) return;
    // One that enrols again at once finds what it has used up; the alarm forgets it.
    const leftMs = keptForMs();
    await (leftMs > 0 ? this.#state.alarm.atLatest(currentMs() + leftMs) : this.#erase());
  }

  /** False: the alarm tells the fleet index; or a machine is enrolled. */
  async #isRemovalTold(): Promise<boolean> {
    const { records } = this.#state;
    const [enrolment, isLeaving] = [records.get("enrolment"), records.get("isLeaving")];
    if (!enrolment) return true;
    if (!isLeaving) return false;
    const text = isLeaving === "forgotten" ? "forgotten by an operator" : "left";
    const isTold = await this.#teller.remove(enrolment, text);
    return isTold && records.get("isLeaving") !== undefined;
  }

  async #erase(): Promise<void> {
    const { storage } = this.#ctx;
    await storage.deleteAlarm();
    await storage.deleteAll();
    await storage.sync();
    // Nothing else that runs in this object may write any more.
    this.#ctx.abort(FORGOTTEN);
  }
}

// Executes what the registry orders for many machines at once: this machine's part of it. Never acts on a machine that
// enrolled after the order was made.

export interface OrderDependencies {
  env: Environment;
  state: MachineState;
  removal: Pick<Removal, "remove" | "removeNode">;
  /** What an operator may also have it do alone. */
  acts: {
    revoke: (generation: number) => void | Promise<void>;
    registerAgain: () => boolean;
    believe: () => boolean;
  };
}

const DAY_MS = 24 * 3600 * 1000;
/** By then the registry has asked the object to forget the machine. */
const FORGOTTEN_WITHIN_MS = 60_000;

/** null: it is done; else why not. Safe to repeat. Throws where it may be tried again. */
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

/** The machine stays enrolled, and its next report registers, whatever REGISTER_AGAIN says: nobody else deleted it. */
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
  // The last attempt may have been interrupted.
  const isOurs = records.get("deletion")?.silentDays !== undefined;
  const phase = records.get("registration")?.phase;
  if (phase !== "registered" && !(phase === "node deleted" && isOurs)) return "it has no Node";
  // Stored before: the watch of the Nodes may notice it first, and must not take it for somebody's deletion.
  noteRemoved(state, days);
  if (!(await removal.removeNode(name))) throw new Error("the Node could not be removed");
  // A report that came meanwhile may have registered what was just removed: the next one does it again.
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
