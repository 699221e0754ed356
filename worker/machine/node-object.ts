// Defines the Durable Object of one machine. A report takes three steps: this file verifies its signature and
// parses its body, decide-report.ts decides one step without side effects, and execute-report.ts executes that
// step.
import type { RuleObject } from "../../shared/features/rule-file.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import type { TimelineRange } from "../../shared/fleet/timeline.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { noteFork } from "../../shared/node/duplicate-senders.ts";
import type { MaintenanceOrder } from "../../shared/node/maintenance.ts";
import type { LeaveAnswer, Phase } from "../../shared/protocol/answers.ts";
import { answerBodySchema } from "../../shared/protocol/asking.ts";
import { mayBeAsked } from "../../shared/protocol/join-tokens.ts";
import type { HistoryEntry, ListedSenders } from "../../shared/protocol/operator-answers.ts";
import type { RuntimeNeed } from "../../shared/protocol/operator-api.ts";
import type { TimelineAnswer } from "../../shared/protocol/timeline.ts";
import { type Result, success } from "../../shared/result.ts";
import { after, currentMs } from "../clock.ts";
import { type Environment, fleetIndex, gateway, gatewaySize, origins, registry } from "../env.ts";
import type { MachineAction } from "../identity/jwt.ts";
import { randomNonce } from "../identity/mac-keys.ts";
import type { MachineOrder } from "../registry/bulk.ts";
import type { RulesOrder } from "../registry/rules.ts";
import type { GrantedPin } from "../registry/pins.ts";
import type { HistoryRequest } from "../storage/history.ts";
import { StoredObject } from "../storage/migrations.ts";
import { registerAgain } from "../tick/registration.ts";
import { type MachineAnswer, type Refusal, tooLate, UNAUTHENTICATED } from "./answers.ts";
import { answerOf, type Asking, type WhereToAsk } from "../asking.ts";
import { orderClearing } from "./clearing.ts";
import { hasReported, recordReturn } from "./contact.ts";
import { decideReport, situationOf } from "./decide-report.ts";
import { ReportExecutor } from "./execute-report.ts";
import { type Freshness, FreshRequests } from "./fresh-requests.ts";
import { HttpQuestions } from "./http-questions.ts";
import { IndexUpdates, UPDATE_LIMITS } from "./index-updates.ts";
import { setNeededRuntime } from "./known-facts.ts";
import type { ReturnedLoan, SocketAnswer, SocketReport } from "./lease-loan.ts";
import { Lending } from "./lease-holder.ts";
import { checkMaintenance, orderMaintenance } from "./maintenance.ts";
import { type MachineState, openMachineState } from "./machine-state.ts";
import { parseBody, type ParsedReport, parseReport, parseRotation } from "./parse-body.ts";
import type { Enrolled, SignedRequest, VerifiedRequest } from "./pinned-keys.ts";
import { RegistryStatus } from "./registry-status.ts";
import { executeOrder, Removal } from "./removal.ts";
import { type ShownByObject, shownNode, shownTimeline, withLent, withLentSamples } from "./shown-node.ts";
import { type RulesChange, Ruling } from "./ruling.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";
import { UpgradeQuestions } from "./upgrade-questions.ts";
import { Upkeep } from "./upkeep.ts";

type CheckedReport = VerifiedRequest & ParsedReport;

/** The freshness of a request while no machine is enrolled. */
const NOT_USED: Freshness = { kind: "stale", isLate: false };

/** The phases of a machine that opens a socket now, or soon. */
const OPENING_PHASES = new Set<Phase | undefined>(["registered", "registering"]);

export class NodeObject extends StoredObject {
  readonly #state: MachineState;
  readonly #requests: FreshRequests;
  readonly #registry: RegistryStatus;
  readonly #upkeep: Upkeep;
  readonly #executor: ReportExecutor;
  readonly #removal: Removal;
  readonly #lending: Lending;
  readonly #index: IndexUpdates;
  readonly #upgrades: UpgradeQuestions;
  readonly #questions: HttpQuestions;
  readonly #ruling: Ruling;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    const state = openMachineState(ctx.storage, env);
    this.#state = state;
    this.#requests = new FreshRequests(() => state.facts.leaseMs());
    this.#registry = new RegistryStatus(
      state,
      () => registry(env),
      currentMs,
      () => gatewaySize(env),
      env.timer,
      Math.random,
    );
    this.#upkeep = new Upkeep(env, state);
    const index = () => fleetIndex(env);
    this.#index = new IndexUpdates({ state, index, timer: env.timer, nowMs: currentMs, random: Math.random });
    this.#upgrades = new UpgradeQuestions(index, env.timer, currentMs);
    this.#questions = new HttpQuestions({ timer: env.timer ?? after, nowMs: currentMs, nonce: randomNonce });
    this.#ruling = new Ruling({ state, registry: () => registry(env), timer: env.timer, nowMs: currentMs });
    this.#executor = new ReportExecutor(
      state,
      this.#requests,
      this.#registry,
      this.#upkeep,
      this.#index,
      this.#ruling,
    );
    this.#lending = new Lending({
      state,
      upkeep: this.#upkeep,
      requests: this.#requests,
      gateway: (number) => gateway(env, number),
      assigned: () => this.#registry.gateway(),
      timer: env.timer,
      nowMs: currentMs,
    });
    this.#removal = new Removal({
      ctx,
      env,
      state,
      upkeep: this.#upkeep,
      registry: () => registry(env),
      offerTicket: () => this.#requests.offerTicket(),
      lending: this.#lending,
      index: this.#index,
    });
  }

  /**
   * Enrols a machine by its pin, unless the pin is out of date. Returns the enrolment with a ticket; null if no
   * machine is enrolled. The machine's first report asks the registry to confirm the pin.
   */
  async enrol(pin: GrantedPin): Promise<(Enrolled & { ticket: string }) | null> {
    await this.#removal.finished();
    // Closes the sockets of the name's former machine, because their end would count as the next machine's.
    if (this.#state.keys.isOthers(pin)) await this.#lending.end("refused");
    await this.#lending.withdraw();
    const { keys, facts, senders, samples, alarm } = this.#state;
    const nowMs = currentMs();
    if (keys.follow(pin, randomNonce(), nowMs)) {
      for (const part of [this.#requests, this.#upkeep, facts, senders, samples]) part.forget();
      this.#questions.stop("the machine has enrolled again: ask again");
      recordReturn(this.#state, nowMs);
      this.#index.update();
      // The alarm detects an enrolled machine that never reports.
      await alarm.unlessSet(nowMs + SILENCE_CHECK_MS);
    }
    const enrolled = keys.enrolled();
    return enrolled && { ...enrolled, ticket: this.#requests.offerTicket() };
  }

  /** Handles a report over HTTP, as the table in docs/protocol.md says. The route has checked the report's kid. */
  async report(request: SignedRequest): Promise<MachineAnswer> {
    const checked = await this.#checked(request);
    if (!checked.ok) return checked;
    await this.#lending.withdraw();
    const offered = () => (request.wantsSocket ? this.#registry.gateway() : null);
    this.#upkeep.offersSocket = offered() !== null;
    const handled = await this.#handle(request, checked.value);
    this.#lending.noteHttp();
    // Only an accepted report proves that the machine itself gets the question.
    const questions = handled.ok ? this.#questions.offered(request.questions ?? null) : {};
    const answer = handled.ok ? success({ ...handled.value, ...questions }) : handled;
    const number = offered();
    const phase = answer.ok && "phase" in answer.value ? answer.value.phase : undefined;
    if (number === null || !OPENING_PHASES.has(phase)) return answer;
    await this.#upkeep.watchOpening();
    return answer.ok && phase === "registered" ? success({ ...answer.value, gateway: number }) : answer;
  }

  /** Handles a report over a socket: ends the loan, and makes the next loan if decideLoan allows it. */
  async reportBySocket(socket: SocketReport): Promise<SocketAnswer> {
    const { request, gateway: number, session, floor, returned } = socket;
    const endings = await this.#lending.takeBack(number, returned);
    const checked = await this.#checked(request, session);
    if (!checked.ok) return { answer: checked, lent: null };
    const answer = await this.#handle(request, checked.value);
    if (!answer.ok) return { answer, lent: null };
    this.#questions.stop("the machine has opened a socket: ask again");
    const { by, report } = checked.value;
    const lent = await this.#lending.lend({ gateway: number, session, floor, by, endings }, report);
    this.#index.update();
    return { answer, lent };
  }

  /** Acts on the end of the machine's socket, or on missed heartbeats. The gateway calls this method. */
  async socketEnded(number: number, returned: ReturnedLoan | null, heardAgoMs?: number): Promise<void> {
    await this.#lending.socketEnded(number, returned, heardAgoMs);
    const { keys, records } = this.#state;
    const name = keys.enrolled() && records.get("enrolment")?.name;
    // A machine that has not reported had no socket: the socket belonged to the name's former machine.
    if (!name || !hasReported(records)) return;
    await this.#upkeep.watchForSilence(name);
    this.#index.update();
  }

  /** Checks for silence. Returns true if the machine is silent. The cluster object calls this method. */
  async leaseExpired(): Promise<boolean> {
    const { keys, records } = this.#state;
    const name = keys.enrolled() && records.get("enrolment")?.name;
    if (!name || records.get("isLeaving")) return false;
    await this.#upkeep.betweenReports(name);
    this.#index.update();
    return (records.get("silentSinceMs") ?? null) !== null;
  }

  /** Records a fork, because a replaced socket sent a valid heartbeat. The gateway calls this method. */
  async noteReplacedBeat(): Promise<void> {
    const { senders } = this.#state;
    const nowMs = currentMs();
    senders.update(noteFork(senders.seen, nowMs), nowMs);
    this.#index.update();
    await this.#lending.withdraw();
  }

  /** Verifies and parses a report. `session`: the key of the socket, if any, for which the report must be signed. */
  async #checked(request: SignedRequest, session?: string): Promise<Result<CheckedReport, Refusal>> {
    if (currentMs() > (request.untilMs ?? Infinity)) return tooLate(Math.random);
    const verified = await this.#verify(request, "report");
    if (!verified.ok) return verified;
    if (verified.value.session !== session) return UNAUTHENTICATED;
    const parsed = await parseReport(request.body);
    return parsed.ok ? success({ ...verified.value, ...parsed.value }) : parsed;
  }

  #verify(request: SignedRequest, action: MachineAction): Promise<Result<VerifiedRequest, Refusal>> {
    return this.#registry.verify(request, action, origins(this.env));
  }

  /** Decides and executes a step. Awaits nothing before the answer is remembered: of equal requests, one applies. */
  async #handle({ address }: SignedRequest, checked: CheckedReport): Promise<MachineAnswer> {
    const { keys } = this.#state;
    const { by, origin, use, report, facts, vitalsCut } = checked;
    const isEnrolled = keys.enrolled() !== null;
    const process = report.startId;
    const freshness = isEnrolled ? this.#requests.use({ ...use, process }) : NOT_USED;
    // Learns the sender's IDs only from a fresh request: a replayed request does not show that the sender reports now.
    if (freshness.kind === "fresh") this.#state.senders.learnFrom(report);
    const step = decideReport(
      report,
      situationOf(this.#state, { report, address, freshness, isEnrolled, nowMs: currentMs() }),
    );
    if (freshness.kind === "fresh") keys.promote(by);
    const answer = this.#executor.execute(step, { report, facts, vitalsCut, origin, address });
    if ("remember" in freshness) freshness.remember(answer);
    try {
      return await answer;
    } finally {
      this.#index.update();
    }
  }

  /** Pins the machine's next key, which takes over with its first report. Safe to repeat with the same next key. */
  async rotate(request: SignedRequest, path: string): Promise<MachineAnswer> {
    const { keys, records } = this.#state;
    const verified = await this.#verify(request, "rotate");
    if (!verified.ok) return verified;
    const { by, use } = verified.value;
    const next = await parseRotation(request, { path, previous: by, origins: origins(this.env) });
    if (!next) return UNAUTHENTICATED;
    // A next key must report before another next key can be pinned.
    if (!keys.enrolled() || records.get("enrolment")?.thumbprint !== by) return UNAUTHENTICATED;
    return this.#requests.answerOnce(use, () => this.#registry.pinNext(next, this.env.KID_MAC_KEYS));
  }

  /** Answers a machine that asks whether to upgrade its shim, and to which version. */
  async upgrade(request: SignedRequest): Promise<MachineAnswer> {
    const verified = await this.#verify(request, "upgrade");
    if (!verified.ok) return verified;
    const { by, use } = verified.value;
    if (!this.#state.keys.enrolled()?.thumbprints.includes(by)) return UNAUTHENTICATED;
    return this.#requests.answerOnce(use, () => this.#upgrades.answer(request));
  }

  /** Asks the machine with its next report over HTTP. The Worker sends an Asking. */
  override async fetch(request: Request): Promise<Response> {
    const asking = await request.json<Asking>();
    const { nodeStatusUpdateFrequencyMs: everyMs } = this.#state.facts.timing();
    return answerOf(this.env, this.ctx, asking, (over) => this.#questions.ask(asking.asked, everyMs, over));
  }

  /** Takes parts of an answer to a question that the machine got with the answer to its report. */
  async answer(request: SignedRequest): Promise<MachineAnswer> {
    const verified = await this.#verify(request, "answer");
    if (!verified.ok) return verified;
    const { by, use } = verified.value;
    if (!this.#state.keys.enrolled()?.thumbprints.includes(by)) return UNAUTHENTICATED;
    const body = parseBody(answerBodySchema, request.body);
    return body.ok ? success(await this.#questions.take(use, body.value)) : body;
  }

  /** Removes the machine at its own request. After a success the route calls `forget`. */
  async leave(request: SignedRequest): Promise<MachineAnswer> {
    const verified = await this.#verify(request, "leave");
    if (!verified.ok) return verified;
    const { by, use } = verified.value;
    return this.#requests.answerOnce(use, () => this.#removal.remove(request.name, { thumbprint: by }));
  }

  /** Removes the machine for an operator. After a success the route calls `forget`. */
  remove(name: string, operator: string): Promise<Result<LeaveAnswer, Refusal>> {
    return this.#removal.remove(name, { operator });
  }

  /** Erases the object after the machine has left. The call always rejects with the error FORGOTTEN. */
  forget(): Promise<void> {
    return this.#removal.forget();
  }

  /** Refuses the keys that were pinned before this generation, as the registry already does. Safe to repeat. */
  async revoke(generation: number): Promise<void> {
    const { keys, records, journal, alarm } = this.#state;
    const nowMs = currentMs();
    if (keys.revoke(generation)) {
      journal.note("registration", "an operator revoked this machine's keys", nowMs);
      // No report will come to repeat a failed update of the fleet index, so the alarm repeats the update.
      await alarm.atLatest(nowMs + UPDATE_LIMITS.firstWaitMs);
    }
    // Ends the loan even if an earlier call has refused the keys, because that call may have been interrupted.
    if (records.get("enrolment")?.isRevoked) await this.#lending.end("refused");
    this.#index.update();
    await this.#upkeep.giveUp();
    this.#index.update();
  }

  /** Acts on another writer's change. `node`: null if the Node must be read. The cluster object calls `noticeNode`. */
  async noticeNode(node: Node | null): Promise<void> {
    const { records } = this.#state;
    if (!records.get("enrolment") || records.get("isLeaving") || !this.#upkeep.isNews(node)) return;
    await this.#lending.withdraw();
    await this.#upkeep.noticeNode(node);
    this.#index.update();
  }

  /** Sends waiting events, records silence, ends a maintenance, or continues a removal. */
  override async alarm(): Promise<void> {
    const { records, alarm, keys } = this.#state;
    alarm.rang();
    const name = records.get("enrolment")?.name;
    if (name === undefined) return;
    await checkMaintenance(this.#state, currentMs());
    await this.#lending.finish(name);
    if (records.get("isLeaving")) return this.#removal.resume(name);
    if (keys.enrolled()) {
      await this.#lending.learnContact();
      await this.#upkeep.betweenReports(name);
    } else await this.#upkeep.giveUp();
    return this.#index.finish();
  }

  /** Sends the fleet index all data of the machine; returns false on failure. `tellAnew` is the name on the wire. */
  async tellAnew(): Promise<boolean> {
    return !this.#state.records.get("enrolment") || this.#index.sendAll();
  }

  /** Returns the summary that the index has; null if an update is left, or without a machine. The name must stay. */
  toldSummary(): MachineSummary | null {
    return this.#index.sentSummary();
  }

  /** Returns the machine's data for operators; null if no machine is enrolled. */
  async show(): Promise<ShownByObject | null> {
    const [alarmMs, lent] = await Promise.all([this.ctx.storage.getAlarm(), this.#lending.heldLoan()]);
    const latest = withLent(this.#upkeep.latest, lent, currentMs());
    return shownNode(this.#state, latest, alarmMs, this.env.DEPLOYMENT);
  }

  /** Returns the machine's history, newest line first. */
  history(request: HistoryRequest): HistoryEntry[] {
    return this.#state.history.read(request);
  }

  /** Returns the machine's timeline; null if no machine is enrolled. Times are milliseconds since 1970. */
  async timeline(range: TimelineRange): Promise<TimelineAnswer | null> {
    const lent = await this.#lending.heldLoan();
    const { samples } = this.#state;
    const known = { ...this.#state, samples: lent ? withLentSamples(samples, lent) : samples };
    return shownTimeline(known, range, currentMs());
  }

  /** Plans, begins or ends the machine's maintenance; returns false if no machine is enrolled. */
  async orderMaintenance(order: MaintenanceOrder): Promise<boolean> {
    const isDone = await orderMaintenance(this.#state, order, currentMs());
    this.#index.update();
    return isDone;
  }

  /** Ends a condition that a problem detector holds, or withdraws the order. As orderClearing. */
  clear(condition: string, isDry: boolean, isWithdrawn = false): ReturnType<typeof orderClearing> {
    const ordered = orderClearing(this.#state, condition, isDry, isWithdrawn);
    this.#atOnce(!isDry && !isWithdrawn && ordered?.ok === true);
    return ordered;
  }

  /** Makes the next report register even a deleted Node; returns false if the machine has never registered. */
  registerAgain(): boolean {
    return this.#atOnce(registerAgain(this.#state.records, this.#state.journal, currentMs()));
  }

  /** Sets whether a missing container runtime makes the Node NotReady; returns false if no machine is enrolled. */
  setNeededRuntime(need: RuntimeNeed): boolean {
    return this.#atOnce(setNeededRuntime(this.#state, need, currentMs()));
  }

  /** Stores the number of the new gateway, as the old gateway is full. The old one then no longer renews the lease. */
  async assignGateway(number: number): Promise<void> {
    const from = this.#registry.gateway();
    this.#registry.assign(number);
    if (from !== number) await this.#lending.end("moved", from);
  }

  /** Returns where this machine can be asked. */
  whereToAsk(): WhereToAsk {
    return {
      mayBeAsked: mayBeAsked(this.#state.records.get("enrolment") ?? {}),
      gateway: this.#registry.gateway(),
      silentSinceMs: this.#state.records.get("silentSinceMs") ?? null,
      overHttp: this.#questions.list(this.#state.facts.timing().nodeStatusUpdateFrequencyMs),
    };
  }

  /** Executes a bulk action for the registry on this machine. Returns null if done, else the reason why not. */
  act(name: string, order: MachineOrder): Promise<string | null> {
    const of = { env: this.env, state: this.#state, removal: this.#removal, acts: this };
    return executeOrder(of, name, order);
  }

  /** Follows a new set of rules. Resolves to true if the Node changes, or would change and may not. */
  async followRules(order: RulesOrder): Promise<boolean> {
    const isChanged = await this.#ruling.follow(order);
    return this.#atOnce(isChanged && order.mayChange) || isChanged;
  }

  /** Returns what rules would change at the Node; null for nothing. */
  tryRules(objects: RuleObject[]): Promise<RulesChange | null> {
    return this.#ruling.attempt(objects);
  }

  /** Returns the senders that report with this machine's key. */
  clones(): ListedSenders {
    return this.#state.senders.list(currentMs());
  }

  /** Ends the phase of duplicate senders for an operator; returns false if there is no such phase. */
  believe(): boolean {
    const isDone = this.#state.senders.end(currentMs());
    // If the machine is silent, no report will replace the text about clones on its Node: the alarm does.
    if (isDone) this.ctx.waitUntil(this.#state.alarm.atLatest(currentMs()));
    return this.#atOnce(isDone);
  }

  /** Makes a machine with a socket report at once, so that the operator sees the effect of an action. */
  #atOnce(isDone: boolean): boolean {
    this.#index.update();
    if (isDone) this.ctx.waitUntil(this.#lending.reportNow());
    return isDone;
  }
}
