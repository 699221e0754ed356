// Lends the machine's lease to the gateway that holds its socket, and takes it back: while an order is out this object
// sleeps, and what it had in memory goes with the order. Whatever may end the machine's right to a renewal recalls it first.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { agreeSession } from "../identity/session-key.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { NodeRecords } from "../storage/records.ts";
import { registeredUid } from "../tick/own-node.ts";
import { touchLease } from "../tick/lease.ts";
import { lendable } from "./decide-loan.ts";
import type { FreshRequests } from "./fresh-requests.ts";
import type { Baton, LeaseHolder, ReturnedOrder, StandingOrder } from "./lease-loan.ts";
import type { MachineState } from "./machine-state.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";
import type { Upkeep } from "./upkeep.ts";

/** A gateway that does not answer within this time holds nobody up: its next PUT conflicts. */
const RECALL_WITHIN_MS = 3000;
const ASK_WITHIN_MS = 1000;
/** Of epochs, which are milliseconds as a rule. */
const EPOCHS_AHEAD = 24 * 3600 * 1000;
/** A machine whose socket closed is back within minutes: until then it still counts as one with a socket. */
const TRANSPORT_KEPT_MS = 120_000;

type State = Pick<MachineState, "records" | "keys" | "facts" | "senders" | "outbox" | "samples" | "alarm">;

export interface LendingDependencies {
  state: State;
  upkeep: Upkeep;
  requests: Pick<FreshRequests, "handOver" | "takeBack">;
  /** Of this number. */
  gateway: (number: number) => LeaseHolder;
  /** The number that the registry has assigned; null: none. */
  assigned: () => number | null;
  /** Typically currentMs. */
  nowMs: () => number;
}

/** The connection that a report came over. */
interface Connection {
  gateway: number;
  /** Its X25519 public key. */
  session: string;
  floor: number;
  /** Thumbprint of the key that signed the report. */
  by: string;
  /** What `takeBack` came to as the report began. */
  since: number;
}

type Lent = { order: StandingOrder; key: string };

export class Lending {
  readonly #with: LendingDependencies;
  readonly #unanswered: UnansweredRecall;
  /** The epoch of the order that is out; null: none is. undefined: after an eviction it is not known. */
  #out: number | null | undefined;
  #lastEpoch = 0;
  /** Recalls under way. They are about what was lent before: nothing is lent meanwhile. */
  #recalls = 0;
  /** How often something has ended what is lent, or would have: a report that ran meanwhile is lent nothing. */
  #ends = 0;
  /** Since when the machine reports without a socket, as far as is known. */
  #withoutSocketMs: number | undefined;

  constructor(dependencies: LendingDependencies) {
    this.#with = dependencies;
    const { state, upkeep, nowMs } = dependencies;
    this.#unanswered = new UnansweredRecall(state, upkeep, nowMs);
  }

  /** With a report over a socket: what was lent is this object's again. What it comes to is `lend`'s to know. */
  async takeBack(gateway: number, returned: ReturnedOrder | null): Promise<number> {
    this.#ends++;
    const lent = this.#lent();
    if (lent && lent.gateway !== gateway) await this.recall();
    else if (lent) this.#restore(returned);
    return this.#ends;
  }

  /**
   * Call it before anything else may write the lease, or must not be followed by a renewal: once it resolves, no gateway
   * renews any more. Costs nothing where nothing is lent.
   */
  async recall(): Promise<void> {
    this.#ends++;
    const lent = this.#lent();
    if (!lent) return;
    this.#recalls++;
    try {
      await this.#recallFrom(lent.gateway);
    } finally {
      this.#recalls--;
    }
  }

  async #recallFrom(number: number): Promise<void> {
    const { state, gateway, nowMs } = this.#with;
    const { records } = state;
    // After an eviction nobody here remembers the order's epoch, and this clock may be behind it.
    const floor = this.#nextEpoch(this.#out === undefined ? this.#lent()?.epochsTo : 0);
    const name = records.get("enrolment")?.name ?? "";
    const asked = () => gateway(number).recall(name, floor);
    const returned = await withDeadline<ReturnedOrder | null | undefined>(
      RECALL_WITHIN_MS,
      asked,
      undefined,
    ).catch(() => undefined);
    // Another call may have taken it back meanwhile.
    if (!this.#lent()) return;
    const isAnswered = returned !== undefined;
    this.#restore(returned ?? null);
    records.remove("lent");
    if (!isAnswered) this.#unanswered.note();
    this.#out = null;
    this.#withoutSocketMs = nowMs();
    // While it was lent the alarm was an hour ahead. A gateway that was evicted tells no silence any more.
    await state.alarm.atLatest(nowMs() + (isAnswered ? SILENCE_CHECK_MS : TOUCH_AGAIN_MS));
    if (!isAnswered) await this.#unanswered.touch(name);
  }

  /** For the alarm: what a gateway that did not answer may still renew. */
  finish(name: string): Promise<void> {
    return this.#unanswered.again(name);
  }

  /** The same for good: the machine's sockets are closed as well. `from`: the number that it had. */
  async end(why: "left" | "refused" | "moved", from = this.#with.assigned()): Promise<void> {
    const { records } = this.#with.state;
    const number = this.#lent()?.gateway ?? (records.get("transport") === undefined ? null : from);
    await this.recall();
    await this.#ask(number, (holder, name) => holder.dismiss(name, why));
  }

  /** A machine with a socket reports now instead of with its next heartbeat, and brings back what is lent. */
  async reportNow(): Promise<void> {
    const { state, assigned } = this.#with;
    if (state.records.get("transport") === undefined) return;
    this.#ends++;
    const number = this.#lent()?.gateway ?? assigned();
    const isAsked = await this.#ask(number, (holder, name) => holder.reportNow(name));
    // The next PUT of one that does not answer conflicts, so that its machine reports all the same.
    if (isAsked === null) await this.recall();
  }

  /** The machine's socket is gone, or silent. */
  async ended(gateway: number, returned: ReturnedOrder | null): Promise<void> {
    const { state, nowMs } = this.#with;
    this.#ends++;
    if (this.#lent()?.gateway !== gateway) return;
    // It may come late, when the next order is out.
    const isEarlier = returned !== null && typeof this.#out === "number" && returned.epoch < this.#out;
    if (isEarlier) return;
    this.#restore(returned);
    state.records.remove("lent");
    this.#out = null;
    this.#withoutSocketMs = nowMs();
  }

  /** For whoever looks: what an order that is out has; null: none is, or its gateway does not answer. */
  async look(): Promise<ReturnedOrder | null> {
    const lent = this.#lent();
    if (!lent) return null;
    return (await this.#ask(lent.gateway, (holder, name) => holder.look(name))) ?? null;
  }

  /** Before it is asked whether the machine is silent: while an order is out, its heartbeats are the gateway's to know of. */
  async learnContact(): Promise<void> {
    const out = this.#out;
    if (!this.#lent() || out === null) return;
    const held = await this.look();
    // A report may have taken it back meanwhile.
    if (this.#out !== out) return;
    const { upkeep, nowMs } = this.#with;
    upkeep.noteContact(held ? (heardAtMs(held, nowMs()) ?? held.baton.upkeep.lastReportMs) : undefined);
  }

  /** A report came by HTTP: the machine has no socket, or not any more. */
  noteHttp(): void {
    const { state, nowMs } = this.#with;
    if (state.records.get("transport") === undefined) return;
    this.#withoutSocketMs ??= nowMs();
    if (nowMs() - this.#withoutSocketMs > TRANSPORT_KEPT_MS) state.records.remove("transport");
  }

  /** After a report over a socket that was applied: an order, where nothing speaks against one. */
  async lend(connection: Connection, report: Report): Promise<Lent | null> {
    const { state, upkeep, requests } = this.#with;
    const { records, facts, samples } = state;
    const name = records.get("enrolment")?.name ?? "";
    if (!this.#lendable(report, connection)) return null;
    // The machine has another gateway by now, or none: it was told so before it had opened this socket, or could not be.
    if (this.#with.assigned() !== connection.gateway) {
      await this.recall();
      await this.#ask(connection.gateway, (holder) => holder.dismiss(name, "moved"));
      return null;
    }
    if (!(await this.#isMember(connection))) return null;
    const agreed = await agreeSession(name, connection.session);
    // From here on nothing is awaited: what is lent is as it is now.
    const lendable = this.#lendable(report, connection);
    const enrolment = records.get("enrolment");
    if (!agreed || !lendable || !enrolment) return null;
    // Its socket has ended meanwhile, another report came, or another gateway was assigned: nobody would tell its silence.
    if (this.#ends !== connection.since) return null;
    const epoch = this.#nextEpoch(connection.floor);
    const { gateway } = connection;
    this.#noteLent(gateway, epoch);
    records.put("transport", "socket");
    this.#withoutSocketMs = undefined;
    this.#out = epoch;
    const baton: Baton = {
      enrolment: enrolment.id,
      upkeep: upkeep.handOver(),
      tickets: requests.handOver(),
      ...(facts.incumbent && { incumbent: facts.incumbent }),
      samples: samples.handOver(),
    };
    const order = { ...lendable, epoch, sessionKey: agreed.sessionKey, vitals: report.vitals, baton };
    return { order, key: agreed.key };
  }

  /**
   * The gateway may be evicted between what is lent and its receipt: then too somebody has to notice the machine's silence.
   * Only a report that was accepted makes it write that.
   */
  async #isMember({ gateway }: Connection): Promise<boolean> {
    return (
      this.#lent() !== undefined ||
      (await this.#ask(gateway, (holder, name) => holder.noteMember(name, gateway))) === true
    );
  }

  #lendable(report: Report, { by }: Connection) {
    const { state, upkeep, nowMs } = this.#with;
    // While the report ran its key may have lost the name: to the machine's next one, or to another machine's.
    if (this.#recalls > 0 || !state.keys.enrolled()?.thumbprints.includes(by)) return null;
    return lendable({ ...state, upkeep, report, nowMs: nowMs() });
  }

  #lent(): NodeRecords["lent"] | undefined {
    return this.#with.state.records.get("lent");
  }

  /** Not each order is a row: what is stored is above those of a day. */
  #noteLent(gateway: number, epoch: number): void {
    const { gateway: before, epochsTo = 0 } = this.#lent() ?? {};
    if (gateway === before && epoch <= epochsTo) return;
    this.#with.state.records.put("lent", { gateway, epochsTo: epoch + EPOCHS_AHEAD });
  }

  /** Above all of this object's, also after an eviction, and above what the gateway takes. */
  #nextEpoch(floor = 0): number {
    this.#lastEpoch = Math.max(this.#with.nowMs(), this.#lastEpoch + 1, floor + 1);
    return this.#lastEpoch;
  }

  /** null: the gateway has lost it. What is not of the last order is older than what this object has. */
  #restore(returned: ReturnedOrder | null): void {
    const { state, upkeep, requests, nowMs } = this.#with;
    const isLast = returned && (this.#out === undefined || this.#out === returned.epoch);
    const isOfThisMachine = returned?.baton.enrolment === state.records.get("enrolment")?.id;
    // Nothing is out, and so nobody else has written the lease.
    const isKnown = this.#out === null;
    this.#out = null;
    if (!isLast || !isOfThisMachine) {
      if (!isKnown) upkeep.forgetLent();
      return;
    }
    const { baton, lease, renewedAgoMs, vitals, samples } = returned;
    const heardMs = heardAtMs(returned, nowMs());
    const { tick, latest, ...kept } = baton.upkeep;
    upkeep.takeBack(
      {
        ...kept,
        tick: { ...tick, ...(renewedAgoMs !== null && { renewedAtMs: nowMs() - renewedAgoMs }) },
        ...(latest && { latest: { ...latest, vitals } }),
        ...(heardMs !== undefined && { latestMs: heardMs, lastReportMs: heardMs }),
      },
      lease,
    );
    upkeep.spendMeanwhile(returned.requests, baton.upkeep.requests);
    requests.takeBack(baton.tickets, heardMs);
    const { incumbent } = baton;
    state.facts.incumbent =
      incumbent && heardMs !== undefined ? { ...incumbent, lastMs: heardMs } : incumbent;
    state.samples.takeBack(baton.samples, samples);
  }

  async #ask<T>(
    number: number | null,
    ask: (holder: LeaseHolder, name: string) => Promise<T>,
  ): Promise<T | null> {
    const name = this.#with.state.records.get("enrolment")?.name;
    if (number === null || name === undefined) return null;
    const asked = () => ask(this.#with.gateway(number), name);
    return withDeadline<T | null>(ASK_WITHIN_MS, asked, null).catch(() => null);
  }
}

/** When its last heartbeat came, by this clock; undefined: none has. */
function heardAtMs({ heardAgoMs }: ReturnedOrder, nowMs: number): number | undefined {
  return heardAgoMs === null ? undefined : nowMs - heardAgoMs;
}

// What follows a recall that its gateway did not answer: the lease is written here, so that the order's next PUT conflicts.
// What fails is repeated by the alarm for as long as an order may last. Renews nothing.

const TOUCH_WITHIN_MS = 2000;
/** From one attempt to the next. */
const TOUCH_AGAIN_MS = 10_000;
/** From a recall on: the order may have been on its way, and its last PUT under way, for some seconds each. */
const ORDER_LASTS_MS = 1000 * GATEWAY_LIMITS.quietSeconds + 15_000;

class UnansweredRecall {
  readonly #state: Pick<MachineState, "records" | "alarm">;
  readonly #upkeep: Pick<Upkeep, "connector" | "spend">;
  readonly #nowMs: () => number;

  constructor(
    state: Pick<MachineState, "records" | "alarm">,
    upkeep: Pick<Upkeep, "connector" | "spend">,
    nowMs: () => number, // typically currentMs
  ) {
    this.#state = state;
    this.#upkeep = upkeep;
    this.#nowMs = nowMs;
  }

  /** Call it as the order is forgotten, before anything is awaited: nobody else remembers that it may be renewed still. */
  note(): void {
    this.#state.records.put("untouched", { untilMs: this.#nowMs() + ORDER_LASTS_MS });
  }

  /** For the alarm, whoever has the name by now. Costs nothing where nothing is left to be done. */
  async again(name: string): Promise<void> {
    const { records } = this.#state;
    const { untilMs } = records.get("untouched") ?? {};
    if (untilMs === undefined) return undefined;
    // By now the order has ended by itself.
    return untilMs <= this.#nowMs() ? records.remove("untouched") : this.touch(name);
  }

  /** Never fails: it holds nobody up. */
  async touch(name: string): Promise<void> {
    const { records, alarm } = this.#state;
    if (await this.#touched(name).catch(() => false)) records.remove("untouched");
    else await alarm.atLatest(this.#nowMs() + TOUCH_AGAIN_MS);
  }

  /** It has to be done, whatever the machine has left of its requests. */
  #touched(name: string): Promise<boolean> {
    const connect = this.#upkeep.connector((what) => {
      this.#upkeep.spend(what);
      return true;
    });
    return touchLease(connect(TOUCH_WITHIN_MS), name, registeredUid(this.#state.records), this.#nowMs());
  }
}
