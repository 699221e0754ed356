// Keeps the machine's Node true by its latest report: runs one tick at a time, sends the events that wait, and checks
// for silence. Its own state may be lost in an eviction.
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import type { NodeMarks } from "../../shared/node/own-labels.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { currentMs } from "../clock.ts";
import { NOT_WATCHED, type WatchStatus } from "../cluster/node-watch.ts";
import { clusterObject, type Environment, isNodeWatchOn, machineRequests, nodeMarks } from "../env.ts";
import { heldToken, kubeConnector } from "../kube/connect.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { HeldToken } from "../kube/token.ts";
import type { KubeClient, RequestKind } from "../kube/kube-client.ts";
import { logFailure, machineLog } from "../log.ts";
import { type Allowance, allowanceAt } from "../storage/allowance.ts";
import type { Enrolment, RequestsLeft } from "../storage/records.ts";
import { lentLease } from "../tick/lease.ts";
import type { TickMemory } from "../tick/memory.ts";
import { isReady, lastPhase, recordPhase } from "../tick/phase.ts";
import { REMOVAL_REQUESTS, RequestBudget } from "../tick/budgets.ts";
import { tick, type TickInput, tickOnNotice, type TickOutcome } from "../tick/tick.ts";
import { hasReported } from "./contact.ts";
import { type UpkeepMemory, withoutFacts } from "./lease-loan.ts";
import type { MachineState } from "./machine-state.ts";
import { firstReportInMs } from "./report-interval.ts";
import type { LatestOfMachine } from "./shown-node.ts";
import {
  checkSilence,
  isLeaseRenewed,
  SILENCE_CHECK_MS,
  UNSEEN_SILENCE_CHECK_MS,
  WATCHED_SILENCE_CHECK_MS,
} from "./silence.ts";

/** The time limit of sending events, and of an alarm's calls. */
const ALARM_WITHIN_MS = 2000;
const STANDING_WITHIN_MS = 1000;
/** Writes that others' changes cause between reports: a fight over a value takes no more than reports would. */
export const BETWEEN_REPORTS = { atOnce: 3, everyMs: 10_000 } as const;
/** Reports that come as often keep their object awake. */
const AWAKE_MS = 10_000;
/** In these phases the apiserver answers, so that events can be sent. */
const FLUSHING_PHASES = new Set<TickOutcome["phase"]>(["registered", "name taken", "node deleted"]);

export class Upkeep {
  readonly #env: Environment;
  readonly #state: MachineState;
  readonly #token: HeldToken;
  readonly #oneTick = singleFlight(() => this.#tick());
  #ticks = 0;
  #marks: NodeMarks | undefined;
  #budget: RequestBudget | undefined;
  #memory: TickMemory = {};
  #latest: Report | undefined;
  /** When that came. */
  #latestMs = 0;
  /** The report of the last tick. */
  #applied: Report | undefined;
  #seen: { node: Node | null } | undefined;
  #standing: WatchStatus | undefined;
  #between: Allowance | undefined;
  #lastReportMs: number | undefined;
  /** What follows a registration, under way while its answer is given. */
  #following: Promise<void> | undefined;

  constructor(env: Environment, state: MachineState) {
    this.#env = env;
    this.#state = state;
    this.#token = heldToken(env);
  }

  /** A variable that cannot be read must not keep the object from waking: its alarm would be given up in minutes. */
  get #requests(): RequestBudget {
    return (this.#budget ??= new RequestBudget(this.#state.records, machineRequests(this.#env), () =>
      currentMs(),
    ));
  }

  /** Is no tick under way, so that nobody here is about to write? */
  get isIdle(): boolean {
    return this.#ticks === 0;
  }

  async #singleTick(): Promise<TickOutcome> {
    this.#ticks++;
    try {
      return await this.#oneTick();
    } finally {
      this.#ticks--;
    }
  }

  /** Runs a tick with this report; a tick in progress is followed by another one with the newest report. */
  keepTrue(report: Report, nowMs: number): Promise<TickOutcome> {
    this.#latest = report;
    this.#latestMs = nowMs;
    this.#lastReportMs = nowMs;
    return this.#singleTick();
  }

  /** The machine reported, although its report is not applied. undefined: nobody knows when; the lease tells. */
  noteContact(atMs: number | undefined): void {
    this.#lastReportMs = atMs;
  }

  /** Once it resolves, no tick is left that could write for a machine that is not enrolled any more. */
  async finish(): Promise<void> {
    await this.#singleTick().catch(() => undefined);
    await this.#following;
  }

  /** Makes clients with the token at hand. */
  connector(mayAsk: (what: RequestKind) => boolean): (withinMs: number) => KubeClient {
    return kubeConnector(this.#env, this.#token, currentMs, mayAsk);
  }

  /** For requests that have to be made: they count, and later ones wait. */
  spend(asked: RequestKind): void {
    this.#requests.spend(asked);
  }

  /** A machine that leaves may overdraw what it has left. */
  mayRemove(): boolean {
    return this.#requests.allowsAnyway(REMOVAL_REQUESTS);
  }

  /** Stores how much of its requests the name has left. Returns for how long that is worth its row, in milliseconds. */
  keepRequests(): number {
    this.#requests.keep();
    return this.#requests.keptForMs();
  }

  /** Call it when another machine has the name. What is left of the requests to the apiserver is the name's. */
  forget(): void {
    this.#memory = {};
    this.#latest = undefined;
    this.#applied = undefined;
    this.#lastReportMs = undefined;
  }

  /** For the baton. */
  handOver(): UpkeepMemory {
    const { lease: _, ...tick } = this.#memory;
    return {
      tick,
      latestMs: this.#latestMs,
      requests: this.#requests.left,
      ...(this.#latest && { latest: withoutFacts(this.#latest) }),
      ...(this.#lastReportMs !== undefined && { lastReportMs: this.#lastReportMs }),
      ...(this.#standing && { standing: this.#standing }),
      ...(this.#between && { between: this.#between }),
    };
  }

  /** The same back, with the lease as it is by now; null: it has to be read. */
  takeBack(
    { tick, latest, latestMs, lastReportMs, standing, between }: UpkeepMemory,
    lease: Lease | null,
  ): void {
    this.#memory = { ...tick, lease };
    this.#latest = latest;
    // Nothing of it is left to be written.
    this.#applied = latest;
    this.#latestMs = latestMs;
    this.#lastReportMs = lastReportMs;
    this.#standing = standing;
    this.#between = between;
  }

  /** What the lease and the machine have been since it was lent, nobody remembers: the lease tells, as after an eviction. */
  forgetLent(): void {
    this.#memory.lease = null;
    delete this.#memory.renewedAtMs;
    this.#lastReportMs = undefined;
  }

  /** What an order depends on, and what the lease is to be; null: the lease would have to be read first. */
  lendable(facts: Facts): { memory: TickMemory; lease: Lease; standing: WatchStatus | undefined } | null {
    const { records } = this.#state;
    const lease = lentLease({ memory: this.#memory, records, facts, nowMs: currentMs });
    return lease && { memory: this.#memory, lease, standing: this.#standing };
  }

  /** Renewals that a gateway has made since so much was left. */
  spendMeanwhile(renewals: number, before: RequestsLeft): void {
    this.#requests.spendMeanwhile(renewals, before);
  }

  /** For whoever looks: what an eviction would lose. */
  get latest(): LatestOfMachine {
    return {
      report: this.#latest,
      reportMs: this.#latestMs,
      contactMs: this.#lastReportMs,
      renewedMs: this.#memory.renewedAtMs,
      statusMs: this.#memory.status?.lastStatusReportTimeMs,
    };
  }

  /** Is the last known Node Ready? */
  isReady(): boolean {
    return isReady(this.#state.records.get("node")?.node);
  }

  /** Sends the events that wait; those that cannot be sent now keep waiting. */
  async flush(name: string): Promise<void> {
    const { outbox } = this.#state;
    if (outbox.isEmpty() || !this.#env.KUBE_URL || !this.#requests.allows("event")) return;
    const failed = await outbox.flush(this.#kube(), name, currentMs);
    this.#requests.keep();
    if (failed) machineLog(name)("events wait", failed);
  }

  /**
   * Sends the events of a registration while its answer is given, and asks whether the Node is watched: the machine's Node
   * is Ready sooner, and no report has to come for them. What fails waits for the next report or alarm.
   */
  #follow(name: string): void {
    const sent = this.flush(name).catch((error: unknown) =>
      logFailure({ node: name, message: "events failed", error: String(error) }),
    );
    this.#following = Promise.all([sent, this.#askStanding(name)]).then(() => undefined);
  }

  /** Between reports: flushes events and records silence. Never renews a lease, writes a status or registers. */
  async betweenReports(name: string): Promise<void> {
    const { alarm, outbox } = this.#state;
    const inAWhile = () => currentMs() + SILENCE_CHECK_MS;
    try {
      await this.flush(name);
      await this.#askStanding(name);
      const next = await this.#checkSilence(name);
      const again = next ?? (outbox.isEmpty() ? null : inAWhile());
      if (again !== null) await alarm.atLatest(outbox.isEmpty() ? again : Math.min(again, inAWhile()));
    } catch (error) {
      logFailure({ node: name, message: "alarm failed", error: String(error) });
      await alarm.atLatest(inAWhile());
    }
  }

  /** With a report: has the alarm ring when the machine's silence has to be noticed by then, or its events sent. */
  setAlarm(nowMs: number): Promise<void> {
    const { alarm, outbox } = this.#state;
    if (this.#standing === undefined && outbox.isEmpty()) return alarm.unlessSet(nowMs + SILENCE_CHECK_MS);
    return alarm.atLatest(nowMs + (outbox.isEmpty() ? this.#checkEveryMs() : SILENCE_CHECK_MS));
  }

  /** Somebody else has changed the Node; null: look. */
  async noticeNode(node: Node | null): Promise<void> {
    this.#seen = { node };
    await this.#singleTick();
  }

  /** Clones are silent when none of them reports. */
  async #checkSilence(name: string, isAtOnce = false): Promise<number | null> {
    const { senders, facts, records } = this.#state;
    const enrolment = records.get("enrolment");
    if (!enrolment) return null;
    const nowMs = currentMs();
    senders.notice(nowMs);
    return checkSilence(this.#state, {
      name,
      leaseDurationMs: facts.leaseMs(),
      lastReportMs: this.#lastReportMs,
      unusedSinceMs: hasReported(records) ? null : enrolment.pinnedAtMs,
      everyMs: isAtOnce ? null : this.#checkEveryMs(),
      client: this.#env.KUBE_URL ? this.#kube() : null,
      nowMs,
    });
  }

  /** An object that reports do not keep awake writes some rows to find out whether they come, where no lease tells. */
  #checkEveryMs(): number {
    const { records, facts } = this.#state;
    if (isLeaseRenewed(records)) {
      // The gateway tells at once when it hears nothing.
      const isSeen = this.#standing?.isSilenceSeen || records.get("lent") !== undefined;
      return isSeen ? WATCHED_SILENCE_CHECK_MS : SILENCE_CHECK_MS;
    }
    return reportIntervalMs(facts.timing()) > AWAKE_MS ? UNSEEN_SILENCE_CHECK_MS : SILENCE_CHECK_MS;
  }

  /** Is every change of the Node by others known here? */
  async #askStanding(name: string): Promise<boolean> {
    if (!isNodeWatchOn(this.#env) || !this.#env.KUBE_URL) return false;
    const ask = () => clusterObject(this.#env).watchStatus(name);
    const asked = withDeadline<WatchStatus>(STANDING_WITHIN_MS, ask, NOT_WATCHED);
    this.#standing = await asked.catch(() => NOT_WATCHED);
    return this.#standing.isWatched;
  }

  async #tick(): Promise<TickOutcome> {
    const { records, keys, senders, facts } = this.#state;
    const enrolment = records.get("enrolment");
    if (!keys.enrolled()) return { phase: "node deleted", ready: false };
    if (!enrolment) throw new Error("a tick without an enrolment");
    const [report, seen] = [this.#latest, this.#seen];
    this.#seen = undefined;
    // The tick of a report that is new writes by itself what the notice asks for.
    if (seen) await this.#actOn(seen.node, enrolment, report === this.#applied ? report : undefined);
    if (report === this.#applied)
      return { phase: lastPhase(records) ?? "registering", ready: this.isReady() };
    this.#applied = report;
    if (!report) throw new Error("a tick without a report");
    // Duplicates may have been detected since the report was decided about.
    const suspension = senders.suspension(report.startId, currentMs());
    if (suspension) return { ...suspension, ready: false };
    const wasRegistered = records.get("registration")?.startId === report.startId;
    // The token at hand serves meanwhile: the tick does not wait.
    const refreshed = this.#env.KUBE_URL ? this.#token.refresh(!wasRegistered) : undefined;
    const outcome = await tick({ ...this.#surroundings(enrolment), report });
    await refreshed;
    this.#requests.keep();
    if (!wasRegistered && outcome.phase === "registered") {
      this.#follow(enrolment.name);
      return { reportInMs: firstReportInMs(facts.timing(), Math.random), ...outcome };
    }
    if (FLUSHING_PHASES.has(outcome.phase)) await this.flush(enrolment.name);
    return outcome;
  }

  /** Between reports the status is written by the last one, where that is recent, and not more often than they come. */
  async #actOn(node: Node | null, enrolment: Enrolment, last: Report | undefined): Promise<void> {
    const { facts, senders } = this.#state;
    const nowMs = currentMs();
    const isRecent = nowMs - this.#latestMs <= facts.leaseMs();
    const isSuspended = last !== undefined && senders.suspension(last.startId, nowMs) !== undefined;
    const left = allowanceAt(this.#between, BETWEEN_REPORTS, nowMs);
    const report = isRecent && !isSuspended && left >= 1 ? last : undefined;
    const writtenMs = this.#memory.status?.lastStatusReportTimeMs;
    const noticed = await tickOnNotice({ ...this.#surroundings(enrolment), report }, node);
    if (this.#memory.status?.lastStatusReportTimeMs !== writtenMs)
      this.#between = { left: left - 1, atMs: nowMs };
    this.#requests.keep();
    if (noticed.kind === "lost") recordPhase(this.#state, noticed.phase, currentMs());
    if (noticed.kind === "taken" && noticed.isGivenUp) await this.watchForSilence(enrolment.name);
    await this.flush(enrolment.name);
  }

  /** The machine may have fallen silent: it is so known a lease duration after its last contact. */
  async watchForSilence(name: string): Promise<void> {
    const { facts, alarm } = this.#state;
    const silentFromMs = (this.#lastReportMs ?? 0) + facts.leaseMs() + 1;
    const next = silentFromMs <= currentMs() ? await this.#checkSilence(name, true) : silentFromMs;
    if (next !== null) await alarm.atLatest(next);
  }

  #surroundings(enrolment: Enrolment): Omit<TickInput, "report"> {
    const { records, journal, facts } = this.#state;
    return {
      env: this.#env,
      marks: (this.#marks ??= nodeMarks(this.#env)),
      token: this.#token,
      enrolment,
      facts: facts.current(),
      records,
      journal,
      memory: this.#memory,
      requests: this.#requests,
      isWatched: () => this.#askStanding(enrolment.name),
      nowMs: currentMs,
      random: Math.random,
    };
  }

  #kube(): KubeClient {
    return this.connector((what) => this.#requests.take(what))(ALARM_WITHIN_MS);
  }
}

// Runs work one at a time: a call during a run joins the next run, which sees everything that was set before the call.

/** A function that runs `work`; at most one run is in progress and at most one waits for it. */
export function singleFlight<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;

  function start(): Promise<Result> {
    const run = work().finally(() => {
      if (running === run) running = undefined;
    });
    running = run;
    return run;
  }

  return () => {
    // Between a run and the next one `running` is undefined, and this call must not start before the next one.
    if (next) return next;
    if (!running) return start();
    next = running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
}
