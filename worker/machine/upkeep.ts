// Keeps the machine's Node as its last report requires: runs one tick at a time, sends events, checks for silence.
import type { Unready } from "../../shared/fleet/unready.ts";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import type { NodeMarks } from "../../shared/node/own-labels.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { currentMs } from "../clock.ts";
import { othersParts } from "../cluster/watched-nodes.ts";
import { type Environment, machineRequests, nodeMarks } from "../env.ts";
import { heldToken, kubeConnector } from "../kube/connect.ts";
import type { HeldToken } from "../kube/token.ts";
import type { KubeClient, RequestKind } from "../kube/kube-client.ts";
import { logFailure, machineLog } from "../log.ts";
import { singleFlight } from "../paced.ts";
import { RATE_LIMITS, type TokenBucket, tokensAt } from "../storage/token-bucket.ts";
import type { Enrolment, RequestsLeft } from "../storage/records.ts";
import { isUnwatched, lentLease } from "../tick/lease.ts";
import type { TickMemory } from "../tick/memory.ts";
import { nodeTurns } from "../tick/node-turn.ts";
import { FLUSHING_PHASES, isReady, lastPhase, recordPhase } from "../tick/phase.ts";
import { REGISTRATION_REQUESTS, REMOVAL_REQUESTS, RequestBudget } from "../tick/budgets.ts";
import { tick, type TickInput, tickOnNotice, type TickOutcome } from "../tick/tick.ts";
import { ClusterStanding } from "./cluster-standing.ts";
import { hasReported } from "./contact.ts";
import type { UpkeepMemory } from "./lease-loan.ts";
import { isMaintenanceDue, restoreMaintenance } from "./maintenance.ts";
import type { MachineState } from "./machine-state.ts";
import { Publishing } from "./publishing.ts";
import { firstReportInMs } from "./report-interval.ts";
import type { LatestOfMachine } from "./shown-node.ts";
import {
  checkEveryMs,
  checkSilence,
  forgetContact,
  keepContact,
  noteOpening,
  SILENCE_CHECK_MS,
  storedContactMs,
} from "./silence.ts";
import { silentReady, waitToMark } from "./silent-node.ts";
import { keepUnready, UNREADY_AGAIN_MS, unreadyIn } from "./unready-node.ts";

/** The time limit for sending events, and for an alarm's requests to the apiserver. */
const ALARM_WITHIN_MS = 2000;

export class Upkeep {
  /** true if the Worker offers the machine a socket in the answer to its report over HTTP. */
  offersSocket = false;
  readonly #env: Environment;
  readonly #state: MachineState;
  readonly #token: HeldToken;
  readonly #cluster: ClusterStanding;
  readonly #oneTick = singleFlight(() => this.#tick());
  readonly #features: Publishing;
  #ticks = 0;
  #marks: NodeMarks | undefined;
  #budget: RequestBudget | undefined;
  #memory: TickMemory = {};
  #latest: Report | undefined;
  #latestAtMs = 0;
  /** The report that the last tick applied. */
  #applied: Report | undefined;
  #seen: { node: Node | null } | undefined;
  #between: TokenBucket | undefined;
  #lastReportMs: number | undefined;
  /** The work that continues after a registration was answered. */
  #following: Promise<void> | undefined;

  constructor(env: Environment, state: MachineState) {
    this.#env = env;
    this.#state = state;
    this.#token = heldToken(env);
    this.#cluster = new ClusterStanding(env);
    this.#features = new Publishing(env, state, () => this.#kube(!state.keys.enrolled()));
  }

  /** The request budget, created at first use: in the constructor, an invalid variable would make each alarm fail. */
  get #requests(): RequestBudget {
    return (this.#budget ??= new RequestBudget(this.#state.records, machineRequests(this.#env), currentMs));
  }

  /** true if no tick is in progress that could write to the apiserver. */
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

  /** Runs a tick with this report. If a tick is already in progress, another tick with the newest report follows it. */
  keepTrue(report: Report, nowMs: number): Promise<TickOutcome> {
    // The report is kept without its facts, because SQLite stores the facts already.
    const { facts: _, ...latest } = report;
    this.#latest = latest;
    this.#latestAtMs = nowMs;
    this.noteContact(nowMs);
    return this.#singleTick();
  }

  /** Notes the time of a report that need not be applied. `atMs`: undefined if only the lease has the time. */
  noteContact(atMs: number | undefined): void {
    this.#lastReportMs = atMs;
    if (atMs !== undefined) forgetContact(this.#state.records);
  }

  /** Writes the conditions that no report sets: Ready Unknown if no report counts, maintenance. Safe to repeat. */
  async giveUp(): Promise<void> {
    if (unreadyIn(this.#state) || isMaintenanceDue(this.#state)) await this.#singleTick();
    await this.publish();
  }

  /** Writes or removes the machine's NodeFeature object, if that is due. */
  async publish(): Promise<void> {
    await this.#features.publish();
    this.#requests.keep();
  }

  /** Starts `giveUp`, for which an answer does not wait. The alarm repeats it if an eviction interrupts it. */
  giveUpSoon(): Promise<void> {
    this.#inBackground(this.giveUp());
    return this.#state.alarm.atLatest(currentMs() + UNREADY_AGAIN_MS.least);
  }

  /** Waits until no tick is in progress that could write for a machine that is no longer enrolled. */
  async finish(): Promise<void> {
    await this.#singleTick().catch(() => undefined);
    await this.#following;
  }

  /** Returns a function that makes apiserver clients with the current token. `mayAsk` may refuse a request. */
  connector(mayAsk: (what: RequestKind) => boolean): (withinMs: number) => KubeClient {
    return kubeConnector(this.#env, this.#token, currentMs, mayAsk);
  }

  /** Counts a request that must be made now, even if the budget is empty. Later requests then wait. */
  spend(asked: RequestKind): void {
    this.#requests.spend(asked);
  }

  /** Returns true if the machine may remove its Node. A removal may overdraw the machine's request budget. */
  mayRemove(): boolean {
    return this.#requests.allowsAnyway(REMOVAL_REQUESTS);
  }

  /** Stores the name's request budget. Returns for how many milliseconds the row must be kept. */
  keepRequests(): number {
    this.#requests.keep();
    return this.#requests.keptForMs();
  }

  /** Forgets the machine's memory. Call it when another machine gets the name, which keeps its request budget. */
  forget(): void {
    this.#memory = {};
    this.#latest = undefined;
    this.#applied = undefined;
    this.#lastReportMs = undefined;
  }

  /** Returns the memory of the upkeep for a loan. */
  handOver(): UpkeepMemory {
    const { lease: _, ...tick } = this.#memory;
    return {
      tick,
      latestMs: this.#latestAtMs,
      requests: this.#requests.left,
      ...(this.#latest && { latest: this.#latest }),
      ...(this.#lastReportMs !== undefined && { lastReportMs: this.#lastReportMs }),
      ...(this.#cluster.watch && { standing: this.#cluster.watch }),
      ...(this.#between && { between: this.#between }),
    };
  }

  /** Restores the memory from a loan. `lease`: the lease as last written; null if the lease must be read. */
  takeBack(
    { tick, latest, latestMs, lastReportMs, standing, between }: UpkeepMemory,
    lease: Lease | null,
  ): void {
    this.#memory = { ...tick, lease };
    this.#latest = latest;
    // During a loan the gateway forwards each report with a change, so the report before the loan needs no tick.
    this.#applied = latest;
    this.#latestAtMs = latestMs;
    this.#lastReportMs = lastReportMs;
    this.#cluster.watch = standing;
    this.#between = between;
  }

  /** Forgets the data that a lost loan would have returned: the next tick reads the lease, as after an eviction. */
  forgetLent(): void {
    this.#memory.lease = null;
    delete this.#memory.renewedAtMs;
    this.#lastReportMs = undefined;
  }

  /** Returns the lease and the memory that go into a loan; null if the lease must be read first. */
  leaseToLend(facts: Facts): { memory: TickMemory; lease: Lease } | null {
    const { records } = this.#state;
    const lease = lentLease({ memory: this.#memory, records, facts, nowMs: currentMs });
    return lease && { memory: this.#memory, lease };
  }

  /** Counts the renewals that a gateway has made. `before`: the request budget when the lease was lent. */
  spendMeanwhile(renewals: number, before: RequestsLeft): void {
    this.#requests.spendMeanwhile(renewals, before);
  }

  /** The data for operators that an eviction would lose. */
  get latest(): LatestOfMachine {
    return {
      report: this.#latest,
      reportMs: this.#latestAtMs,
      contactMs: this.#lastReportMs,
      renewedMs: this.#memory.renewedAtMs,
      statusMs: this.#memory.status?.lastStatusReportTimeMs,
    };
  }

  /** Returns true if the Node was Ready when last read or written. */
  isReady(): boolean {
    return isReady(this.#state.records.get("node")?.node);
  }

  /** Sends the waiting events. Events that fail stay in the outbox. `leaving`: the least requests left afterwards. */
  async flush(name: string, leaving = 0): Promise<void> {
    const { outbox } = this.#state;
    const mayAsk = (what: RequestKind) => this.#requests.allows(what, 1 + leaving);
    if (outbox.isEmpty() || !this.#env.KUBE_URL || !mayAsk("event")) return;
    const client = this.connector((what) => mayAsk(what) && this.#requests.take(what));
    const failed = await outbox.flush(client(ALARM_WITHIN_MS), name, currentMs);
    this.#requests.keep();
    if (failed) machineLog(name)("events wait", failed);
  }

  /** Sends a registration's events, and asks the cluster object about the watch, without delaying the answer. */
  #follow(name: string): void {
    const sent = this.flush(name).catch((error: unknown) =>
      logFailure({ node: name, message: "events failed", error: String(error) }),
    );
    this.#inBackground(Promise.all([sent, this.#cluster.ask(name, this.#isListed())]));
  }

  #inBackground(work: Promise<unknown>): void {
    this.#following = Promise.allSettled([this.#following, work]).then(() => undefined);
  }

  /** Sends events and records silence. Must not renew the lease, write the status or register: the alarm calls it. */
  async betweenReports(name: string): Promise<void> {
    const { alarm, outbox } = this.#state;
    const inAWhile = () => currentMs() + SILENCE_CHECK_MS;
    try {
      await this.giveUp();
      // The next report may begin with a registration. Late events must not delay the Ready of that report.
      await this.flush(name, REGISTRATION_REQUESTS);
      await this.#cluster.ask(name, this.#isListed());
      const next = await this.#checkSilence(name);
      const again = Math.min(next ?? Infinity, outbox.isEmpty() ? Infinity : inAWhile());
      if (again < Infinity) await alarm.atLatest(again);
    } catch (error) {
      logFailure({ node: name, message: "alarm failed", error: String(error) });
      await alarm.atLatest(inAWhile());
    }
  }

  /** Sets the alarm for the next check for silence, or for the waiting events. Call `setAlarm` with each report. */
  setAlarm(nowMs: number): Promise<void> {
    const { alarm, outbox } = this.#state;
    if (this.#cluster.watch === undefined && outbox.isEmpty())
      return alarm.unlessSet(nowMs + SILENCE_CHECK_MS);
    const everyMs = this.#checkEveryMs() ?? this.#state.facts.leaseMs() + 1;
    return alarm.atLatest(nowMs + (outbox.isEmpty() ? everyMs : Math.min(everyMs, SILENCE_CHECK_MS)));
  }

  /** Sets the alarm to the end of the lease, because no gateway watches a machine that opens a socket. */
  watchOpening(): Promise<void> {
    const { records, facts, alarm } = this.#state;
    noteOpening(records, facts.leaseMs(), currentMs());
    return alarm.atLatest((this.#lastReportMs ?? currentMs()) + facts.leaseMs() + 1);
  }

  /**
   * Returns false if the Node equals the known Node in all parts that this object acts on. `node`: null if the Node must
   * be read.
   */
  isNews(node: Node | null): boolean {
    const { records } = this.#state;
    const known = records.get("registration")?.phase === "registered" ? records.get("node") : undefined;
    if (node === null || !known) return true;
    return othersParts(node, this.#env.DEPLOYMENT) !== othersParts(known.node, this.#env.DEPLOYMENT);
  }

  /** Acts on another writer's change of the Node. `node`: null if the Node must be read. */
  async noticeNode(node: Node | null): Promise<void> {
    this.#seen = { node };
    await this.#singleTick();
    // The Node may have left the watch, so the cluster object is asked again.
    this.#cluster.watch &&= { ...this.#cluster.watch, isWatched: false };
  }

  /** Checks for silence; returns when to check again, or null. Clones are silent once no clone reports. */
  async #checkSilence(name: string, isAtOnce = false): Promise<number | null> {
    const { senders, facts, records } = this.#state;
    const enrolment = records.get("enrolment");
    if (!enrolment) return null;
    const nowMs = currentMs();
    senders.notice(nowMs);
    const next = await checkSilence(this.#state, {
      name,
      leaseDurationMs: facts.leaseMs(),
      lastReportMs: this.#lastReportMs ?? storedContactMs(records, facts.leaseMs(), nowMs),
      unusedSinceMs: hasReported(records) ? null : enrolment.pinnedAtMs,
      everyMs: isAtOnce ? null : this.#checkEveryMs(),
      client: this.#env.KUBE_URL ? this.#kube() : null,
      nowMs,
    });
    return next ?? (await this.#markSilent(nowMs)) ?? senders.cloneEndsMs;
  }

  /** Sets Ready to Unknown if the machine is silent. Returns when to try again; null if nothing is left to write. */
  async #markSilent(nowMs: number): Promise<number | null> {
    const waitMs = await waitToMark(this.#env, this.#state.records, nowMs);
    if (waitMs !== 0) return waitMs === null ? null : nowMs + waitMs;
    await this.#singleTick();
    return null;
  }

  /** Returns the time between two checks; null if the next check is due at the end of the lease. */
  #checkEveryMs(): number | null {
    const { records, facts } = this.#state;
    const intervalMs = reportIntervalMs(facts.timing());
    return checkEveryMs(records, intervalMs, this.#cluster.watch?.isSilenceSeen ?? false, currentMs());
  }

  /** Reports whether the cluster object must list the machine's lease to notice the machine's silence. */
  #isListed(): boolean {
    const { records, facts } = this.#state;
    return !this.offersSocket && isUnwatched(records, facts.leaseMs(), currentMs());
  }

  async #tick(): Promise<TickOutcome> {
    const { records, keys, senders, facts } = this.#state;
    const enrolment = records.get("enrolment");
    if (!enrolment && keys.enrolled()) throw new Error("a tick without an enrolment");
    if (!enrolment || records.get("isLeaving")) return { phase: "node deleted", ready: false };
    const [report, seen] = [this.#latest, this.#seen];
    this.#seen = undefined;
    // The tick with the new report follows, and also makes the write that the notice requires.
    if (seen) await this.#actOn(seen.node, enrolment, report === this.#applied ? report : undefined);
    const unready = unreadyIn(this.#state) ?? silentReady(this.#env, records);
    if (unready || (report === this.#applied && isMaintenanceDue(this.#state)))
      await this.keepUnready(unready);
    if (!keys.enrolled()) return { phase: "node deleted", ready: false };
    if (report === this.#applied)
      return { phase: lastPhase(records) ?? "registering", ready: this.isReady() };
    this.#applied = report;
    if (!report) throw new Error("a tick without a report");
    // Another report may have revealed duplicate senders since decideReport has decided about this report.
    const suspension = senders.suspension(report.startId, currentMs());
    if (suspension) return { ...suspension, ready: false };
    const wasRegistered = records.get("registration")?.startId === report.startId;
    // The tick uses the current token, and does not wait until another token arrives.
    const refreshed = this.#env.KUBE_URL ? this.#token.refresh(!wasRegistered) : undefined;
    // A new Node must not be newer than the cluster, even for its first minutes.
    if (!wasRegistered) await this.#cluster.learnMinor();
    const outcome = await tick({ ...this.#surroundings(enrolment), report });
    await refreshed;
    this.#requests.keep();
    keepContact(records, outcome.phase, this.latest);
    if (this.#features.isDue()) this.#inBackground(this.publish());
    if (!wasRegistered && outcome.phase === "registered") {
      await restoreMaintenance(this.#state, currentMs());
      this.#follow(enrolment.name);
      return { reportInMs: firstReportInMs(facts.timing(), Math.random), ...outcome };
    }
    if (FLUSHING_PHASES.has(outcome.phase)) await this.flush(enrolment.name);
    return outcome;
  }

  /** Writes the conditions that no report sets. Call it while no tick is in progress. */
  async keepUnready(unready: Unready | null): Promise<void> {
    if (!this.#env.KUBE_URL) return;
    const [state, requests, { nodeVersion }] = [this.#state, this.#requests, this.#memory];
    const client = (mayAsk: (what: RequestKind) => boolean) => this.connector(mayAsk)(ALARM_WITHIN_MS);
    const flush = (name: string) => this.flush(name);
    const node = { deployment: this.#env.DEPLOYMENT, nodeVersion };
    this.#memory.nodeVersion = await keepUnready({ state, requests, client, flush, ...node }, unready);
    requests.keep();
  }

  /** Acts on another writer's change of the Node. Writes the status if the last report is recent and limits allow. */
  async #actOn(node: Node | null, enrolment: Enrolment, last: Report | undefined): Promise<void> {
    const { facts, senders } = this.#state;
    const nowMs = currentMs();
    const isRecent = nowMs - this.#latestAtMs <= facts.leaseMs();
    const isSuspended = last !== undefined && senders.suspension(last.startId, nowMs) !== undefined;
    const left = tokensAt(this.#between, RATE_LIMITS.statusBetweenReports, nowMs);
    const report = isRecent && !isSuspended && left >= 1 ? last : undefined;
    const noticed = await tickOnNotice({ ...this.#surroundings(enrolment), report }, node);
    if ("isWritten" in noticed && noticed.isWritten) this.#between = { left: left - 1, atMs: nowMs };
    this.#requests.keep();
    if (noticed.kind === "lost") recordPhase(this.#state, noticed.phase, currentMs());
    if (noticed.kind === "taken" && noticed.isGivenUp) await this.watchForSilence(enrolment.name);
    await this.flush(enrolment.name);
  }

  /** Sets the alarm to one lease duration after the last contact, or checks for silence now if that time has passed. */
  async watchForSilence(name: string): Promise<void> {
    const { facts, alarm, records } = this.#state;
    const silentFromMs = (this.#lastReportMs ?? 0) + facts.leaseMs() + 1;
    // An alarm for other work may ring first. Without this note it would delay the check for silence by five minutes.
    noteOpening(records, facts.leaseMs(), currentMs());
    // The object is evicted before the alarm rings, and the apiserver may not answer when the alarm rings.
    if (this.#lastReportMs !== undefined) records.put("contact", { lastMs: this.#lastReportMs });
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
      isWatched: () => this.#cluster.isWatched(enrolment.name, this.#isListed()),
      clusterMinor: () => this.#cluster.minor,
      nodeTurn: nodeTurns(this.#env, enrolment.token),
      nowMs: currentMs,
      random: Math.random,
    };
  }

  /** `isRefused`: whether the machine's keys are refused. Then it causes no more requests, and these need no budget. */
  #kube(isRefused = false): KubeClient {
    return this.connector((what) => this.#requests.take(what, isRefused))(ALARM_WITHIN_MS);
  }
}
