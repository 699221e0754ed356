// Decides who may write the machine's lease: its node object, or the gateway that has its socket. The node object lends
// the lease before it sleeps. It withdraws the lease before any other writer may write it, and before the machine may lose
// its right to the lease.
//
//   MINE ────────────────────── lend ─────────────────────────► LENT to gateway G, with the epoch E
//   The object renews the lease with each report.               G renews it with each quiet heartbeat.
//   records.lent: absent                                        records.lent: { gateway: G, epochsTo >= E }
//    ▲   ▲   ▲                                                   │                 │
//    │   │   └── a report over the socket, or its end: G ◄───────┘                 │ withdraw: epochs up to a
//    │   │       returns the loan, or null if it has none                          ▼ floor above E are over
//    │   └────── G answers: it makes no PUT any more ◄──────────────────────── WITHDRAWING, for 3 s at most
//    │                                                                             │ G does not answer
//    └────────── the object has written the lease, so that G's next ◄───────── UNANSWERED: MINE, but G may still renew
//                PUT conflicts, or the loan has expired (untilMs)              records.untouched: { untilMs }
//
// These states are records, so that they outlive an eviction of the node object, which only forgets E. An eviction of G
// loses the loan.
import { isDisputed } from "../../shared/node/duplicate-senders.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { quietForMs, quietOf } from "../../shared/quiet/quiet.ts";
import { customSetters } from "../../shared/setters/custom.ts";
import type { Timer } from "../clock.ts";
import { agreeSession } from "../identity/session-key.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { NodeRecords } from "../storage/records.ts";
import { touchLease } from "../tick/lease.ts";
import { registeredUid } from "../tick/own-node.ts";
import { lastPhase } from "../tick/phase.ts";
import { dueInMs } from "../tick/status.ts";
import type { FreshRequests } from "./fresh-requests.ts";
import type { HandoffState, LeaseHolder, LeaseLoan, ReturnedLoan, SocketAnswer } from "./lease-loan.ts";
import type { MachineState } from "./machine-state.ts";
import type { Upkeep } from "./upkeep.ts";

/** The longest wait for a withdrawal's answer. Then the node object writes the lease: the gateway's PUT conflicts. */
const WITHDRAW_WITHIN_MS = 3000;
const ASK_WITHIN_MS = 1000;
/** How far the stored bound of epochs is above a loan's epoch, which usually is a time in milliseconds. */
const EPOCHS_AHEAD = 24 * 3600 * 1000;
/** The time for which a machine that lost its socket still counts as a machine with a socket. */
const TRANSPORT_KEPT_MS = 120_000;
const TOUCH_WITHIN_MS = 2000;
/** The time between two attempts to write the lease after an unanswered withdrawal. */
const TOUCH_AGAIN_MS = 10_000;
/** The longest duration of a loan, with some seconds each for its arrival and the last PUT. */
const LOAN_LASTS_MS = 1000 * GATEWAY_LIMITS.quietSeconds + 15_000;

export interface LendingDependencies {
  state: Pick<MachineState, "records" | "keys" | "facts" | "senders" | "outbox" | "samples" | "alarm">;
  upkeep: Upkeep;
  requests: Pick<FreshRequests, "handOver" | "takeBack">;
  /** Returns the gateway with this number. */
  gateway: (number: number) => LeaseHolder;
  /** Returns the number of the gateway that the registry has assigned to the machine; null if there is none. */
  assigned: () => number | null;
  /** The object's timer. */
  timer: Timer | undefined;
  /** Returns the current time in milliseconds. Typically currentMs. */
  nowMs: () => number;
}

/** The socket over which a report came, and the key that signed the report. */
interface Connection {
  gateway: number;
  /** The socket's X25519 public key. */
  session: string;
  /** The lower bound of the next loan's epoch, which must be greater. */
  floor: number;
  /** The thumbprint of the key that signed the report. */
  by: string;
  /** The result of `takeBack` at the begin of the report. */
  endings: number;
}

export class Lending {
  readonly #with: LendingDependencies;
  /** The epoch of the current loan; null if there is none; undefined after an eviction, which forgets it. */
  #epoch: number | null | undefined;
  #lastEpoch = 0;
  /** The number of withdrawals in progress. The node object lends nothing during a withdrawal. */
  #withdrawals = 0;
  /** The number of calls that ended a loan. If this number rises during a report, no loan follows the report. */
  #endings = 0;
  /** The time of the first report without a socket; undefined if the machine has a socket, or after an eviction. */
  #withoutSocketMs: number | undefined;

  constructor(dependencies: LendingDependencies) {
    this.#with = dependencies;
  }

  /** Ends the loan at the begin of a report over the socket. Returns the number of endings, for `lend`. */
  async takeBack(gateway: number, returned: ReturnedLoan | null): Promise<number> {
    this.#endings++;
    const lent = this.#lent();
    if (lent && lent.gateway !== gateway) await this.withdraw();
    else if (lent) this.#restore(returned);
    return this.#endings;
  }

  /** Withdraws the lease; resolves once no gateway renews it. Sends nothing if the lease is not lent. */
  async withdraw(): Promise<void> {
    this.#endings++;
    const lent = this.#lent();
    if (!lent) return;
    this.#withdrawals++;
    try {
      await this.#withdrawFrom(lent.gateway);
    } finally {
      this.#withdrawals--;
    }
  }

  async #withdrawFrom(number: number): Promise<void> {
    const { state, upkeep, gateway, timer, nowMs } = this.#with;
    const { records } = state;
    // After an eviction the loan's epoch is unknown. The epoch may be ahead of this clock, but never above `epochsTo`.
    const floor = this.#nextEpoch(this.#epoch === undefined ? this.#lent()?.epochsTo : 0);
    const name = records.get("enrolment")?.name ?? "";
    const asked = () => gateway(number).recall(name, floor);
    const returned = await withDeadline<ReturnedLoan | null | undefined>(
      WITHDRAW_WITHIN_MS,
      asked,
      undefined,
      timer,
    ).catch(() => undefined);
    // Another call may have ended the loan while this call waited for the gateway.
    if (!this.#lent()) return;
    const isAnswered = returned !== undefined;
    this.#restore(returned ?? null);
    records.remove("lent");
    // `untouched` is stored with the removal of `lent`: no other record shows that the gateway may still renew.
    if (!isAnswered) records.put("untouched", { untilMs: nowMs() + LOAN_LASTS_MS });
    this.#epoch = null;
    this.#withoutSocketMs = nowMs();
    // The alarm was up to an hour ahead during the loan. A gateway without socket or memory no longer reports a silence.
    await upkeep.watchOpening();
    if (isAnswered) return;
    await state.alarm.atLatest(nowMs() + TOUCH_AGAIN_MS);
    await this.#touch(name);
  }

  /** After an unanswered withdrawal, writes the lease again until the loan has expired. The alarm calls `finish`. */
  async finish(name: string): Promise<void> {
    const { state, nowMs } = this.#with;
    const { untilMs } = state.records.get("untouched") ?? {};
    if (untilMs === undefined) return undefined;
    return untilMs <= nowMs() ? state.records.remove("untouched") : this.#touch(name);
  }

  /** Writes the lease, so that the gateway's next PUT conflicts. Never rejects: the alarm repeats a failed write. */
  async #touch(name: string): Promise<void> {
    const { state, upkeep, nowMs } = this.#with;
    const { records, alarm } = state;
    // The request budget does not limit this write of the lease, because the write stops a gateway's renewals.
    const connect = upkeep.connector((what) => {
      upkeep.spend(what);
      return true;
    });
    const touched = touchLease(connect(TOUCH_WITHIN_MS), name, registeredUid(records), nowMs());
    if (await touched.catch(() => false)) records.remove("untouched");
    else await alarm.atLatest(nowMs() + TOUCH_AGAIN_MS);
  }

  /** Withdraws the lease and closes the machine's sockets on the gateway with the number `from`. */
  async end(why: "left" | "refused" | "moved", from = this.#with.assigned()): Promise<void> {
    const { records } = this.#with.state;
    const number = this.#lent()?.gateway ?? (records.get("transport") === undefined ? null : from);
    await this.withdraw();
    await this.#ask(number, (holder, name) => holder.dismiss(name, why));
  }

  /** Asks a machine with a socket to report now instead of with its next heartbeat. That report ends the loan. */
  async reportNow(): Promise<void> {
    const { state, assigned } = this.#with;
    if (state.records.get("transport") === undefined) return;
    this.#endings++;
    const number = this.#lent()?.gateway ?? assigned();
    const isAsked = await this.#ask(number, (holder, name) => holder.reportNow(name));
    // Without an answer, the withdrawal makes the gateway's next PUT conflict, so that the machine reports.
    if (isAsked === null) await this.withdraw();
  }

  /** Ends the loan because the machine's socket has closed or missed its heartbeats. */
  async socketEnded(gateway: number, returned: ReturnedLoan | null, heardAgoMs?: number): Promise<void> {
    const { state, upkeep, nowMs } = this.#with;
    this.#endings++;
    if (this.#lent()?.gateway !== gateway) return;
    // The gateway's call may come late, when the node object has already made a later loan.
    const isEarlier = returned !== null && typeof this.#epoch === "number" && returned.epoch < this.#epoch;
    if (isEarlier) return;
    this.#restore(returned);
    // The lease is older than the last contact if its renewals failed, or if a report wrote the whole status instead.
    if (!returned && heardAgoMs !== undefined) upkeep.noteContact(nowMs() - heardAgoMs);
    state.records.remove("lent");
    this.#epoch = null;
    this.#withoutSocketMs = nowMs();
  }

  /** Reads the loan without ending it; null if there is none, or the gateway does not answer. */
  async heldLoan(): Promise<ReturnedLoan | null> {
    const lent = this.#lent();
    if (!lent) return null;
    return (await this.#ask(lent.gateway, (holder, name) => holder.look(name))) ?? null;
  }

  /** Asks the gateway for the time of the last heartbeat. Call it before a check for silence. */
  async learnContact(): Promise<void> {
    const epoch = this.#epoch;
    if (!this.#lent() || epoch === null) return;
    const held = await this.heldLoan();
    // A report may have ended the loan while this call waited for the gateway.
    if (this.#epoch !== epoch) return;
    const { upkeep, nowMs } = this.#with;
    upkeep.noteContact(held ? (heardAtMs(held, nowMs()) ?? held.baton.upkeep.lastReportMs) : undefined);
  }

  /** Notes a report over HTTP. After TRANSPORT_KEPT_MS, the machine counts as a machine without a socket. */
  noteHttp(): void {
    const { state, nowMs } = this.#with;
    if (state.records.get("transport") === undefined) return;
    this.#withoutSocketMs ??= nowMs();
    if (nowMs() - this.#withoutSocketMs > TRANSPORT_KEPT_MS) state.records.remove("transport");
  }

  /** Makes a loan after a report over the socket; null if the node object must get each report. */
  async lend(connection: Connection, report: Report): Promise<SocketAnswer["lent"]> {
    const { state, upkeep, requests } = this.#with;
    const { records, facts, samples } = state;
    const { gateway } = connection;
    const name = records.get("enrolment")?.name ?? "";
    if (!this.#decide(report, connection)) return null;
    // The registry assigned another gateway, but the earlier gateway missed the message and still has this socket.
    if (this.#with.assigned() !== gateway) {
      await this.withdraw();
      await this.#ask(gateway, (holder) => holder.dismiss(name, "moved"));
      return null;
    }
    // The machine becomes a member first: a gateway whose eviction loses the loan still checks members for silence.
    const noteMember = () => this.#ask(gateway, (holder) => holder.noteMember(name, gateway));
    if (!this.#lent() && (await noteMember()) !== true) return null;
    const agreed = await agreeSession(name, connection.session);
    // Nothing is awaited from here on, so that the loan contains the node object's current state.
    const decided = this.#decide(report, connection);
    const enrolment = records.get("enrolment");
    if (!agreed || !decided || !enrolment) return null;
    // During the awaits, the socket ended, a report came, or the gateway changed: no gateway would notice a silence.
    if (this.#endings !== connection.endings) return null;
    const epoch = this.#nextEpoch(connection.floor);
    this.#noteLent(gateway, epoch);
    records.put("transport", "socket");
    this.#withoutSocketMs = undefined;
    this.#epoch = epoch;
    const baton: HandoffState = {
      enrolment: enrolment.id,
      upkeep: upkeep.handOver(),
      tickets: requests.handOver(),
      ...(facts.incumbent && { incumbent: facts.incumbent }),
      samples: samples.handOver(),
    };
    const order = { ...decided, epoch, sessionKey: agreed.sessionKey, vitals: report.vitals, baton };
    return { order, key: agreed.key };
  }

  #decide(report: Report, { by }: Connection) {
    const { state, upkeep, nowMs } = this.#with;
    // During the report, the signing key may have lost the name to the machine's next key or to another machine.
    if (this.#withdrawals > 0 || !state.keys.enrolled()?.thumbprints.includes(by)) return null;
    return decideLoan({ ...state, upkeep, report, nowMs: nowMs() });
  }

  #lent(): NodeRecords["lent"] | undefined {
    return this.#with.state.records.get("lent");
  }

  /** Stores the loan's gateway and an upper bound of epochs, EPOCHS_AHEAD above, so that not each loan costs a row. */
  #noteLent(gateway: number, epoch: number): void {
    const { gateway: before, epochsTo = 0 } = this.#lent() ?? {};
    if (gateway === before && epoch <= epochsTo) return;
    this.#with.state.records.put("lent", { gateway, epochsTo: epoch + EPOCHS_AHEAD });
  }

  /** Returns an epoch above all earlier epochs of this node object, and above `floor`. */
  #nextEpoch(floor = 0): number {
    this.#lastEpoch = Math.max(this.#with.nowMs(), this.#lastEpoch + 1, floor + 1);
    return this.#lastEpoch;
  }

  /** Restores the memory only from the last loan. `returned`: null if the gateway has lost the loan. */
  #restore(returned: ReturnedLoan | null): void {
    const { state, upkeep, requests, nowMs } = this.#with;
    const isLast = returned && (this.#epoch === undefined || this.#epoch === returned.epoch);
    const isOfThisMachine = returned?.baton.enrolment === state.records.get("enrolment")?.id;
    // If no loan was made, no gateway has written the lease: the memory of the lease is then still correct.
    const isKnown = this.#epoch === null;
    this.#epoch = null;
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

  /** Calls the gateway; returns null if there is none, or it takes longer than ASK_WITHIN_MS. */
  async #ask<T>(
    number: number | null,
    ask: (holder: LeaseHolder, name: string) => Promise<T>,
  ): Promise<T | null> {
    const name = this.#with.state.records.get("enrolment")?.name;
    if (number === null || name === undefined) return null;
    const asked = () => ask(this.#with.gateway(number), name);
    return withDeadline<T | null>(ASK_WITHIN_MS, asked, null, this.#with.timer).catch(() => null);
  }
}

/** Returns the time of the last heartbeat under a loan, by this object's clock; undefined if no heartbeat came. */
function heardAtMs({ heardAgoMs }: ReturnedLoan, nowMs: number): number | undefined {
  return heardAgoMs === null ? undefined : nowMs - heardAgoMs;
}

interface LendingSituation extends Pick<MachineState, "records" | "keys" | "facts" | "senders" | "outbox"> {
  upkeep: Pick<Upkeep, "isIdle" | "leaseToLend">;
  /** The machine's last report. */
  report: Report;
  nowMs: number;
}

type DecidedLoan = Pick<LeaseLoan, "lease" | "leaseMs" | "intervalMs" | "quietForMs" | "quiet">;

/** Returns a loan's conditions; null while work waits, or if anything but the next report could change the Node. */
export function decideLoan(situation: LendingSituation): DecidedLoan | null {
  const { facts: known, upkeep, report, nowMs, records } = situation;
  const facts = known.current();
  if (!facts || !isSettled(situation)) return null;
  const found = upkeep.leaseToLend(facts);
  if (!found) return null;
  const { memory, lease } = found;
  if (memory.leaseBackOff || memory.statusBackOff || memory.withheld !== undefined) return null;
  const intervalMs = reportIntervalMs(known.timing());
  const turnInMs = formTurnInMs(records, facts.settings.nodeStatusReportFrequencyMs, nowMs);
  const statusDueInMs = Math.min(turnInMs, dueInMs({ memory, records, facts }, nowMs));
  const { vitals } = report;
  const clock = { isSkewed: records.get("isSkewed") ?? false, skewMs: records.get("skewMs") ?? 0 };
  const quiet =
    memory.setters && quietOf({ facts, vitals, memory: memory.setters, clock, custom: customSetters });
  if (!quiet) return null;
  const forMs = quietForMs(quiet, vitals, { statusDueInMs, intervalMs });
  return forMs > 0 ? { lease, leaseMs: known.leaseMs(), intervalMs, quietForMs: forMs, quiet } : null;
}

/**
 * Returns the milliseconds until the Node's labels change their form, which needs a write of the status. Returns
 * Infinity without a change, or if the change is long overdue: then another writer keeps the labels.
 */
function formTurnInMs(
  records: LendingSituation["records"],
  nodeStatusReportFrequencyMs: number,
  nowMs: number,
): number {
  const inMs = (records.get("formTurn")?.atMs ?? Infinity) - nowMs;
  return inMs < -nodeStatusReportFrequencyMs ? Infinity : Math.max(0, inMs);
}

/** Returns true if the node object has no work left and knows exactly one sender. */
function isSettled(situation: LendingSituation): boolean {
  const { records, keys, facts, senders, outbox, upkeep, report, nowMs } = situation;
  return (
    upkeep.isIdle &&
    outbox.isEmpty() &&
    keys.enrolled() !== null &&
    lastPhase(records) === "registered" &&
    records.get("registration")?.phase === "registered" &&
    records.get("registration")?.startId === report.startId &&
    records.get("node")?.readAgain === false &&
    // While another writer undoes a part of the Node, each report must reach this object, which puts the part back.
    records.get("putBack") === undefined &&
    (records.get("silentSinceMs") ?? null) === null &&
    records.get("apiserverBackSinceMs") === undefined &&
    facts.refused === undefined &&
    facts.has(report.factsDigest) &&
    facts.incumbent?.startId === report.startId &&
    !senders.seen.double &&
    senders.seen.waitingSinceMs === undefined &&
    !isDisputed(senders.seen, nowMs)
  );
}
