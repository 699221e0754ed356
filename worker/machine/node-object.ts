// The Durable Object of one machine: verifies what the machine sends, and executes the step that decide-report.ts
// returns. It has no HTTP in it: every transport puts the answers on its own wire.
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { LeaveAnswer } from "../../shared/protocol/answers.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { type Result, success } from "../../shared/result.ts";
import { noteFork } from "../../shared/node/duplicate-senders.ts";
import { type Environment, fleetIndex, gateway, gatewaySize, origins, registry } from "../env.ts";
import { randomNonce } from "../identity/mac-keys.ts";
import type { MachineOrder } from "../registry/bulk.ts";
import type { GrantedPin } from "../registry/pins.ts";
import type { TimelineRange } from "../../shared/fleet/timeline.ts";
import type { TimelineAnswer } from "../../shared/protocol/timeline.ts";
import type { HistoryEntry, ListedSenders } from "../../shared/protocol/operator-answers.ts";
import type { RuntimeNeed } from "../../shared/protocol/operator-api.ts";
import type { HistoryRequest } from "../storage/history.ts";
import { StoredObject } from "../storage/migrations.ts";
import { registerAgain } from "../tick/registration.ts";
import { type MachineAnswer, type Refusal, UNAUTHENTICATED } from "./answers.ts";
import { hasReported, recordReturn } from "./contact.ts";
import { decideReport, type ReportSituation } from "./decide-report.ts";
import { ReportExecutor } from "./execute-report.ts";
import { executeOrder, Forgetting, Removal } from "./removal.ts";
import { type Freshness, FreshRequests } from "./fresh-requests.ts";
import { IndexTeller, TELLING_LIMITS } from "./index-updates.ts";
import { type MachineState, openMachineState } from "./machine-state.ts";
import { Lending } from "./lending.ts";
import { setNeededRuntime } from "./known-facts.ts";
import { type ParsedReport, parseReport, parseRotation } from "./parse-body.ts";
import type { Enrolled, SignedRequest, VerifiedRequest } from "./pinned-keys.ts";
import { Recovery, RegistryStanding } from "./registry-status.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";
import { type ShownByObject, shownNode, withLent } from "./shown-node.ts";
import { shownTimeline, withLentSamples } from "./shown-timeline.ts";
import type { ReturnedOrder, SocketAnswer, SocketReport } from "./lease-loan.ts";
import { UpgradeQuestions } from "./upgrade.ts";
import { Upkeep } from "./upkeep.ts";
import { currentMs } from "../clock.ts";

type CheckedReport = VerifiedRequest & ParsedReport;

/** Without an enrolled machine no ticket is used. */
const NOT_USED: Freshness = { kind: "stale", isLate: false };

export class NodeObject extends StoredObject {
  readonly #state: MachineState;
  readonly #requests: FreshRequests;
  readonly #standing: RegistryStanding;
  readonly #upkeep: Upkeep;
  readonly #steps: ReportExecutor;
  readonly #removal: Removal;
  readonly #recovery: Recovery;
  readonly #lending: Lending;
  readonly #teller: IndexTeller;
  readonly #forgetting: Forgetting;
  readonly #questions: UpgradeQuestions;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    const state = openMachineState(ctx.storage, env);
    this.#state = state;
    this.#requests = new FreshRequests(() => state.facts.leaseMs());
    this.#standing = new RegistryStanding(
      state,
      () => registry(env),
      currentMs,
      () => gatewaySize(env),
      Math.random,
    );
    this.#upkeep = new Upkeep(env, state);
    const index = () => fleetIndex(env);
    const { alarm } = state;
    this.#teller = new IndexTeller({ state, alarm, index, nowMs: currentMs, random: Math.random });
    this.#questions = new UpgradeQuestions(index, currentMs);
    this.#forgetting = new Forgetting(ctx, state, this.#teller);
    this.#steps = new ReportExecutor(state, this.#requests, this.#standing, this.#upkeep, this.#teller);
    this.#lending = new Lending({
      state,
      upkeep: this.#upkeep,
      requests: this.#requests,
      gateway: (number) => gateway(env, number),
      assigned: () => this.#standing.gateway(),
      nowMs: currentMs,
    });
    this.#recovery = new Recovery(env, state);
    const offerTicket = () => this.#requests.offerTicket();
    this.#removal = new Removal({
      env,
      state,
      upkeep: this.#upkeep,
      registry: () => registry(env),
      offerTicket,
      lending: this.#lending,
    });
  }

  /**
   * Follows the pin unless it is out of date; null: nobody is enrolled. The first report asks the registry to confirm
   * the pin.
   */
  async enrol(pin: GrantedPin): Promise<(Enrolled & { ticket: string }) | null> {
    await this.#removal.finished();
    // The machine that had the name keeps no socket: its end would be taken for the next one's.
    if (this.#state.keys.isOthers(pin)) await this.#lending.end("refused");
    await this.#lending.recall();
    const { keys, facts, senders, samples, alarm } = this.#state;
    const nowMs = currentMs();
    if (keys.follow(pin, randomNonce(), nowMs)) {
      for (const part of [this.#requests, this.#upkeep, facts, senders, samples]) part.forget();
      recordReturn(this.#state, nowMs);
      this.#teller.look();
      // Where it never reports, somebody has to notice.
      await alarm.unlessSet(nowMs + SILENCE_CHECK_MS);
    }
    const enrolled = keys.enrolled();
    return enrolled && { ...enrolled, ticket: this.#requests.offerTicket() };
  }

  /** Handles a report whose kid a transport has checked: the table of docs/protocol.md. */
  async report(request: SignedRequest): Promise<MachineAnswer> {
    const checked = await this.#checked(request);
    if (!checked.ok) return checked;
    await this.#lending.recall();
    const answer = await this.#handle(request, checked.value);
    this.#lending.noteHttp();
    const number = request.wantsSocket ? this.#standing.gateway() : null;
    const mayConnect =
      number !== null && answer.ok && "phase" in answer.value && answer.value.phase === "registered";
    return mayConnect ? success({ ...answer.value, gateway: number }) : answer;
  }

  /** The same over a socket, with what this object had lent; where nothing speaks against it, it lends again. */
  async reportBySocket(socket: SocketReport): Promise<SocketAnswer> {
    const { request, gateway: number, session, floor, returned } = socket;
    const since = await this.#lending.takeBack(number, returned);
    const checked = await this.#checked(request, session);
    if (!checked.ok) return { answer: checked, lent: null };
    const answer = await this.#handle(request, checked.value);
    if (!answer.ok) return { answer, lent: null };
    const { by, report } = checked.value;
    const lent = await this.#lending.lend({ gateway: number, session, floor, by, since }, report);
    this.#teller.look();
    return { answer, lent };
  }

  /** The machine's socket has ended, or nothing was heard of it. */
  async socketEnded(number: number, returned: ReturnedOrder | null): Promise<void> {
    await this.#lending.ended(number, returned);
    const { keys, records } = this.#state;
    const name = keys.enrolled() && records.get("enrolment")?.name;
    // A machine that has not reported has none: it was one of the machine that had the name before.
    if (!name || !hasReported(records)) return;
    await this.#upkeep.watchForSilence(name);
    this.#teller.look();
  }

  /** A socket that another one has replaced sent a heartbeat of its session: its process runs in two places. */
  async noteReplacedBeat(): Promise<void> {
    const { senders } = this.#state;
    const nowMs = currentMs();
    senders.update(noteFork(senders.seen, nowMs), nowMs);
    this.#teller.look();
    await this.#lending.recall();
  }

  /** `session`: of the socket that it came by; a report for one is none for another, nor for HTTP. */
  async #checked(request: SignedRequest, session?: string): Promise<Result<CheckedReport, Refusal>> {
    const verified = await this.#recovery.verify(request, "report");
    if (!verified.ok) return verified;
    if (verified.value.session !== session) return UNAUTHENTICATED;
    const parsed = await parseReport(request.body);
    return parsed.ok ? success({ ...verified.value, ...parsed.value }) : parsed;
  }

  /** Until the answer is remembered nothing is awaited: of two equal requests one is applied. */
  async #handle({ address }: SignedRequest, checked: CheckedReport): Promise<MachineAnswer> {
    const { keys } = this.#state;
    const { by, origin, use, report, facts } = checked;
    const isEnrolled = keys.enrolled() !== null;
    const process = report.startId;
    const freshness = isEnrolled ? this.#requests.use({ ...use, process }) : NOT_USED;
    // Facts have their sender's IDs. Only a fresh request shows that its sender is there now.
    if (freshness.kind === "fresh") this.#state.senders.learnFrom(report);
    const step = decideReport(report, this.#situation(report, freshness, isEnrolled));
    if (freshness.kind === "fresh") keys.promote(by);
    const answer = this.#steps.execute(step, { report, facts, origin, address });
    if ("remember" in freshness) freshness.remember(answer);
    try {
      return await answer;
    } finally {
      this.#teller.look();
    }
  }

  #situation(report: Report, freshness: Freshness, isEnrolled: boolean): ReportSituation {
    const { facts, senders } = this.#state;
    const { factsDigest } = report;
    return {
      isEnrolled,
      freshness,
      senders: senders.seen,
      sender: senders.senderOf(report),
      areFactsKnown: facts.has(factsDigest),
      areSendersFactsKnown: senders.knowsFacts(factsDigest),
      incumbent: facts.incumbent,
      confirmationMs: facts.confirmationMs(),
      nowMs: currentMs(),
      leaseMs: facts.leaseMs(),
    };
  }

  /** Has the next key pinned beside the machine's, until it reports. Safe to repeat with the same next key. */
  async rotate(request: SignedRequest, path: string): Promise<MachineAnswer> {
    const { keys, records } = this.#state;
    const verified = await this.#recovery.verify(request, "rotate");
    if (!verified.ok) return verified;
    const { by, use } = verified.value;
    const next = await parseRotation(request, { path, previous: by, origins: origins(this.env) });
    if (!next) return UNAUTHENTICATED;
    // A next key has to report before another one can follow it.
    if (!keys.enrolled() || records.get("enrolment")?.thumbprint !== by) return UNAUTHENTICATED;
    return this.#requests.answerOnce(use, () => this.#standing.pinNext(next, this.env.KID_MAC_KEYS));
  }

  /** May the machine's shim be upgraded, and to which version? Its service reports meanwhile. */
  async upgrade(request: SignedRequest): Promise<MachineAnswer> {
    const verified = await this.#recovery.verify(request, "upgrade");
    if (!verified.ok) return verified;
    const { by, use } = verified.value;
    if (!this.#state.keys.enrolled()?.thumbprints.includes(by)) return UNAUTHENTICATED;
    return this.#requests.answerOnce(use, () => this.#questions.answer(request));
  }

  /** The machine leaves. After a success the transport calls `forget`. */
  async leave(request: SignedRequest): Promise<MachineAnswer> {
    const verified = await this.#recovery.verify(request, "leave");
    if (!verified.ok) return verified;
    const { by, use } = verified.value;
    return this.#requests.answerOnce(use, () => this.#removal.remove(request.name, { thumbprint: by }));
  }

  /** An operator removes the machine. After a success the transport calls `forget`. */
  remove(name: string, operator: string): Promise<Result<LeaveAnswer, Refusal>> {
    return this.#removal.remove(name, { operator });
  }

  /** Forgets the machine that has left, in storage and in memory. The call itself fails with the error FORGOTTEN. */
  async forget(): Promise<void> {
    const keptForMs = () => (this.#state.records.get("enrolment") ? this.#upkeep.keepRequests() : 0);
    await this.#forgetting.forget(keptForMs);
  }

  /** The registry refuses keys that were pinned before this generation; so does this object from now on. Safe to repeat. */
  async revoke(generation: number): Promise<void> {
    const { keys, records, journal, alarm } = this.#state;
    const nowMs = currentMs();
    if (keys.revoke(generation)) {
      journal.note("registration", "an operator revoked this machine's keys", nowMs);
      // No report follows that could repeat what is told.
      await alarm.atLatest(nowMs + TELLING_LIMITS.firstWaitMs);
    }
    // Also where they were refused before: the request that did it may have come no further.
    if (records.get("enrolment")?.isRevoked) await this.#lending.end("refused");
    this.#teller.look();
  }

  /**
   * For the cluster's object: somebody else has changed this machine's Node. null: it is gone from the list, or came too
   * late to be sent along. Resolves once that is acted on.
   */
  async noticeNode(node: Node | null): Promise<void> {
    if (!this.#state.keys.enrolled()) return;
    await this.#lending.recall();
    await this.#upkeep.noticeNode(node);
    this.#teller.look();
  }

  /** Flushes the outbox, records silence, completes a removal. */
  override async alarm(): Promise<void> {
    const { records, alarm, keys } = this.#state;
    alarm.rang();
    const name = records.get("enrolment")?.name;
    if (name === undefined) return;
    await this.#lending.finish(name);
    if (records.get("isLeaving")) return this.#removal.resume(name, () => this.#forgetting.forget());
    if (keys.enrolled()) {
      await this.#lending.learnContact();
      await this.#upkeep.betweenReports(name);
    }
    return this.#teller.finish();
  }

  /** For the fleet index, which was lost or is compared: tells it all. False: that has failed. */
  async tellAnew(): Promise<boolean> {
    return !this.#state.records.get("enrolment") || this.#teller.tellAnew();
  }

  /** The summary, where the fleet index was told of it; null: it was not yet, or no machine is enrolled. */
  toldSummary(): MachineSummary | null {
    return this.#teller.toldSummary();
  }

  /** What is known of the machine now; null: none is enrolled. */
  async show(): Promise<ShownByObject | null> {
    const [alarmMs, lent] = await Promise.all([this.ctx.storage.getAlarm(), this.#lending.look()]);
    const latest = withLent(this.#upkeep.latest, lent, currentMs());
    return shownNode(this.#state, latest, alarmMs, this.env.DEPLOYMENT);
  }

  /** What changed on this machine, newest first. */
  history(request: HistoryRequest): HistoryEntry[] {
    return this.#state.history.read(request);
  }

  /** What was so on this machine from when to when; null: none is enrolled. Times are milliseconds since 1970. */
  async timeline(range: TimelineRange): Promise<TimelineAnswer | null> {
    const lent = await this.#lending.look();
    const { samples } = this.#state;
    const known = { ...this.#state, samples: lent ? withLentSamples(samples, lent) : samples };
    return shownTimeline(known, range, currentMs());
  }

  /** For operators: the next report registers, also where the Node was deleted. */
  registerAgain(): boolean {
    return this.#atOnce(registerAgain(this.#state.records, this.#state.journal, currentMs()));
  }

  /** For operators: does a container runtime that is gone keep the Node from being Ready? */
  setNeededRuntime(need: RuntimeNeed): boolean {
    return this.#atOnce(setNeededRuntime(this.#state, need, currentMs()));
  }

  /**
   * For a transport: the registry has given the machine another gateway, since its own has no room. Once this resolves, the
   * one that it had renews no more.
   */
  async assignGateway(number: number): Promise<void> {
    const from = this.#standing.gateway();
    this.#standing.assign(number);
    if (from !== number) await this.#lending.end("moved", from);
  }

  /** For the registry: its part of an action on many machines. null: it is done; else why not. */
  act(name: string, order: MachineOrder): Promise<string | null> {
    const acts = {
      revoke: (generation: number) => this.revoke(generation),
      registerAgain: () => this.registerAgain(),
      believe: () => this.believe(),
    };
    return executeOrder({ env: this.env, state: this.#state, removal: this.#removal, acts }, name, order);
  }

  /** Who reports with this machine's key. */
  clones(): ListedSenders {
    return this.#state.senders.list(currentMs());
  }

  /** For operators: only one machine has the key now; false: there were no duplicates. */
  believe(): boolean {
    return this.#atOnce(this.#state.senders.end(currentMs()));
  }

  /** A machine with a socket reports at once: who has asked for something sees it done. */
  #atOnce(isDone: boolean): boolean {
    this.#teller.look();
    if (isDone) this.ctx.waitUntil(this.#lending.reportNow());
    return isDone;
  }
}
