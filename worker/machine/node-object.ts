// The Durable Object of one machine: a thin shell (storage, RPC) around the tick. Authenticates what the machine
// says, has it in SQLite before it answers, and decides nothing itself.
import { DurableObject } from "cloudflare:workers";
import type { Phase, Report, ReportAnswer } from "../../shared/protocol/report.ts";
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import { type Answer, FORGOTTEN } from "./answer.ts";
import { type Clones, type ListedSenders, machineClones, type ToldDouble } from "./duplicate-senders.ts";
import { type Environment, origins, registry } from "../env.ts";
import { type Enrolled, type PinnedKeys, pinnedKeys, type SignedRequest } from "./pinned-keys.ts";
import type { GrantedPin } from "../registry/pins.ts";
import type { HistoryEntry, HistoryQuery } from "../../shared/protocol/operator-api.ts";
import { type History, machineHistory } from "../storage/history.ts";
import { type Journal, journal } from "../storage/journal.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { type KnownFacts, knownFacts } from "./known-facts.ts";
import { type LazyAlarm, lazyAlarm } from "./lazy-alarm.ts";
import { registerAgain } from "../tick/registration.ts";
import { removeFromCluster } from "./removal.ts";
import { firstReportInMs, nextReportInMs } from "./report-interval.ts";
import { parseRotation } from "./rotation.ts";
import { type Standing, standing } from "./registry-standing.ts";
import { nodeRecordStore, type NodeRecordStore, type PublicKey } from "../storage/records.ts";
import { eventOutbox, type Outbox } from "../storage/outbox.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";
import { randomNonce } from "../identity/nonce.ts";
import { refusal } from "../http/problems.ts";
import { parseReport, type ReportedFacts, withinGrant } from "./parse-report.ts";
import { requestRate, RETRY_AFTER_SECONDS } from "./request-rate.ts";
import { nodeTables } from "../storage/tables.ts";
import { singleFlight } from "./single-flight.ts";
import { isReady, kubeOf, logOf, tick, type TickMemory, type TickOutcome } from "../tick/tick.ts";
import { type Freshness, offerTicket, type Tickets, type TicketUse, useTicket } from "./tickets.ts";
import { hear, hearSetupFailed, listen, tell } from "./contact.ts";

/** What events and the alarm may take of a tick's time. */
const ALARM_WITHIN_MS = 2000;
/** The apiserver answers, and it is time to tell it what happened. */
const FLUSHING_PHASES = new Set<Phase>(["registered", "name taken", "node deleted"]);
const LEFT: Answer = { status: 200, body: { left: true } };

export class NodeObject extends DurableObject<Environment> {
  readonly #records: NodeRecordStore;
  readonly #outbox: Outbox;
  readonly #history: History;
  readonly #journal: Journal;
  readonly #clones: Clones;
  readonly #facts: KnownFacts;
  readonly #alarm: LazyAlarm;
  readonly #keys: PinnedKeys;
  readonly #standing: Standing;
  readonly #tick: () => Promise<TickOutcome>;
  readonly #mayAsk = requestRate();
  #tickets: Tickets<Promise<Answer>> = {};
  #memory: TickMemory = {};
  #removal: Promise<unknown> | undefined;
  #latest: Report | undefined;
  #lastReportMs: number | undefined;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    const { sql } = ctx.storage;
    const tables = nodeTables(sql);
    this.#records = nodeRecordStore(sql, tables);
    this.#keys = pinnedKeys(this.#records);
    this.#standing = standing(this.#records, this.#keys, () => registry(env));
    this.#outbox = eventOutbox(ctx.storage, tables, this.#records);
    this.#history = machineHistory(sql, tables);
    this.#journal = journal(ctx.storage, this.#records, this.#outbox, this.#history);
    this.#clones = machineClones(this.#records, this.#journal);
    this.#facts = knownFacts(() => this.#witness());
    this.#alarm = lazyAlarm(ctx.storage);
    this.#tick = singleFlight(() => this.#runTick());
  }

  /** Follows the pin, unless it is out of date; null: nobody is enrolled. What it gave counts once the registry says so. */
  async enrol(pin: GrantedPin): Promise<(Enrolled & { ticket: string }) | null> {
    // What a removal takes out of the cluster must not be the next machine's.
    await this.#removal?.catch(() => undefined);
    if (this.#keys.follow(pin, randomNonce(), Date.now())) {
      this.#tickets = {};
      this.#memory = {};
      this.#latest = undefined;
      this.#facts.forget();
      this.#clones.forget();
    }
    const enrolled = this.#keys.enrolled();
    return enrolled && { ...enrolled, ticket: this.#offerTicket() };
  }

  /** Handles a report whose kid the Worker has checked; the table in docs/protocol.md, first match wins. */
  async report(request: SignedRequest): Promise<Answer> {
    const verified = await this.#keys.verify(request, "report", origins(this.env));
    if (verified.kind === "refused") return refusal(verified.reason);
    const parsed = await parseReport(request.body);
    if (parsed.kind === "not JSON") return refusal("invalid-json");
    if (parsed.kind === "invalid") {
      return refusal("invalid-body", { detail: parsed.fault.message, pointer: parsed.fault.path });
    }
    // From here to `remember` nothing is awaited: of two equal requests one is applied.
    const enrolment = this.#records.get("enrolment");
    if (!enrolment || !this.#keys.enrolled()) return refusal("unauthenticated");
    const use = this.#use(verified.use);
    if (use.kind === "answered") return use.answer;
    if (use.kind === "stale") {
      if (use.isFork) this.#clones.sightFork(parsed.report, Date.now());
      return this.#challenge("ticket-stale", parsed.report);
    }
    this.#keys.promote(verified.by);
    const answer = this.#apply(parsed.report, withinGrant(parsed.facts, enrolment), verified.origin);
    use.remember(answer);
    return answer;
  }

  /** Has the next key pinned beside the machine's, until it reports. Safe to repeat with the same next key. */
  async rotate(request: SignedRequest, path: string): Promise<Answer> {
    const verified = await this.#keys.verify(request, "rotate", origins(this.env));
    if (verified.kind === "refused") return refusal(verified.reason);
    const next = await parseRotation(request, { path, previous: verified.by, origins: origins(this.env) });
    if (next === null) return refusal("unauthenticated");
    // A next key has to report before another one can follow it.
    const enrolment = this.#records.get("enrolment");
    if (!this.#keys.enrolled() || enrolment?.thumbprint !== verified.by) return refusal("unauthenticated");
    const use = this.#use(verified.use);
    if (use.kind === "answered") return use.answer;
    if (use.kind === "stale") return refusal("ticket-stale", { ticket: this.#offerTicket() });
    const answer = this.#prepare(next);
    use.remember(answer);
    return answer;
  }

  async #prepare(next: PublicKey): Promise<Answer> {
    const kid = await this.#standing.prepare(next, this.env.KID_MAC_KEYS);
    return kid === null ? refusal("unauthenticated") : { status: 200, body: { kid } };
  }

  /** The machine leaves. After a 200 the Worker calls `forget`. */
  async leave(request: SignedRequest): Promise<Answer> {
    const verified = await this.#keys.verify(request, "leave", origins(this.env));
    if (verified.kind === "refused") return refusal(verified.reason);
    const use = this.#use(verified.use);
    if (use.kind === "answered") return use.answer;
    if (use.kind === "stale") return refusal("ticket-stale", { ticket: this.#offerTicket() });
    const answer = this.remove(request.name, `machine ${verified.by}`);
    use.remember(answer);
    return answer;
  }

  /**
   * Has the machine's keys refused for ever, then removes lease and Node; reports are refused from now on. 200 as well
   * where there is nothing (any more) to remove. `forget` comes next. `who`: for the audit log.
   */
  remove(name: string, who: string): Promise<Answer> {
    return this.#removing(this.#remove(name, who));
  }

  /** Who enrols waits until it is over. */
  #removing<T>(removal: Promise<T>): Promise<T> {
    this.#removal = removal;
    return removal;
  }

  async #remove(name: string, who: string): Promise<Answer> {
    const generation = await registry(this.env).unpin(name, "machine.leave", who);
    if (generation === null) return LEFT;
    const isEnrolled = this.#keys.outdate(generation);
    // A machine that came after stays.
    if (!isEnrolled && this.#records.get("enrolment")) return LEFT;
    this.#records.put("isLeaving", true);
    if (!isEnrolled) return LEFT;
    // A run in progress would make again what is removed.
    await this.#tick().catch(() => undefined);
    await this.#flush(name);
    const failed = await this.#removeFromCluster(name);
    if (failed) {
      logOf(name)("not removed", failed);
      await this.#alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
      return refusal("not-removed", { ticket: this.#offerTicket() });
    }
    logOf(name)("left");
    return LEFT;
  }

  /** Nobody may come to ask once more: the machine may be gone. */
  async #leaveAgain(name: string): Promise<void> {
    if (await this.#removeFromCluster(name)) return this.#alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
    logOf(name)("left");
    return this.forget();
  }

  /** The registry refuses the machine's keys since this generation: so does this object. */
  revoke(generation: number): void {
    if (!this.#keys.revoke(generation)) return;
    this.#journal.note("registration", "an operator revoked this machine's keys", Date.now());
  }

  #removeFromCluster(name: string): Promise<ApiError | null> {
    return removeFromCluster({ env: this.env, records: this.#records, name, nowMs: () => Date.now() });
  }

  /** Forgets the machine that has left, in storage and in memory. The call itself ends with the error FORGOTTEN. */
  async forget(): Promise<void> {
    // A machine that has enrolled anew meanwhile stays.
    if (this.#records.get("enrolment") && !this.#records.get("isLeaving")) return;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    await this.ctx.storage.sync();
    // Whatever else is under way in this object must not write any more.
    this.ctx.abort(FORGOTTEN);
  }

  /** What a fresh report changes is one write, before anything else is awaited than the registry's word. */
  async #apply(report: Report, facts: ReportedFacts, origin: string): Promise<Answer> {
    const isSighted = this.#clones.sight(report, Date.now(), this.#facts.leaseMs());
    const disbelief = this.#clones.disbelief(report.startId, Date.now());
    if (disbelief && isSighted) return this.#disbelieved(disbelief);
    if (report.vitals.setupError !== undefined && !disbelief)
      return this.#setupFailed(report.vitals.setupError);
    if (facts.kind === "none" && this.#wantsFacts(report)) return this.#challenge("facts-unknown", report);
    if (!(await this.#standing.holds(origin, Date.now()))) return refusal("key-revoked");
    this.#clones.keep(Date.now());
    this.#facts.take(report.factsDigest, facts);
    hear(this.#witness(), report);
    this.#latest = report;
    this.#lastReportMs = Date.now();
    // Set in the transaction of what the report changes.
    const alarm = this.#alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
    const outcome = await this.#tick();
    // Where nothing is wrong with the Node itself.
    const double = outcome.phase === "registered" ? this.#clones.told(Date.now()) : undefined;
    const told: TickOutcome = { ...outcome, ...double };
    tell(this.#witness(), told.phase);
    await alarm;
    return this.#answer({ ...told, ...this.#facts.refused(report.factsDigest) });
  }

  /** Nothing of the report is stored or acted on. Of two shims the other one says how it goes. */
  #disbelieved(told: ToldDouble): Promise<Answer> {
    this.#lastReportMs = Date.now();
    const isCloned = told.phase === "cloned";
    if (isCloned) tell(this.#witness(), told.phase);
    return this.#withoutTick({ ...told, ready: !isCloned && isReady(this.#records.get("node")?.node) });
  }

  /** Nothing is renewed or written but events. */
  async #withoutTick(told: TickOutcome): Promise<Answer> {
    this.#clones.keep(Date.now());
    await this.#alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
    await this.#flush(this.#records.get("enrolment")?.name ?? "");
    return this.#answer(told);
  }

  #answer(told: TickOutcome & Pick<ReportAnswer, "factsRefused">): Answer {
    const reportInMs = nextReportInMs(this.#facts.settings(), Math.random);
    return { status: 200, body: { reportInMs, ...told, ticket: this.#offerTicket() } };
  }

  /** The machine is about to be silent. */
  #setupFailed(setupError: string): Promise<Answer> {
    hearSetupFailed(this.#witness(), setupError);
    return this.#withoutTick({ phase: "setup failed", ready: isReady(this.#records.get("node")?.node) });
  }

  async #runTick(): Promise<TickOutcome> {
    const enrolment = this.#records.get("enrolment");
    if (!this.#keys.enrolled()) return { phase: "node deleted", ready: false };
    if (!enrolment || !this.#latest) throw new Error("a tick without an enrolment and a report");
    const disbelief = this.#clones.disbelief(this.#latest.startId, Date.now());
    if (disbelief) return { ...disbelief, ready: false };
    const wasRegistered = this.#records.get("registration")?.startId === this.#latest.startId;
    const outcome = await tick({
      env: this.env,
      enrolment,
      report: this.#latest,
      records: this.#records,
      journal: this.#journal,
      memory: this.#memory,
      nowMs: () => Date.now(),
      random: Math.random,
    });
    // What a registration has to say follows with the next report: Ready comes first.
    if (!wasRegistered && outcome.phase === "registered")
      return { reportInMs: firstReportInMs(this.#facts.settings(), Math.random), ...outcome };
    if (FLUSHING_PHASES.has(outcome.phase)) await this.#flush(enrolment.name);
    return outcome;
  }

  /** Sends what waits; what cannot be sent now waits on. */
  async #flush(name: string): Promise<void> {
    if (this.#outbox.isEmpty() || this.env.KUBE_URL === "") return;
    const failed = await this.#outbox.flush(this.#kube(ALARM_WITHIN_MS), name, () => Date.now());
    if (failed) logOf(name)("events wait", failed);
  }

  /** Flushes the outbox, notes silence, ends a removal. Never renews a lease, writes a status or registers. */
  override async alarm(): Promise<void> {
    const enrolment = this.#records.get("enrolment");
    this.#alarm.rang();
    if (!enrolment) return;
    if (this.#records.get("isLeaving")) return this.#removing(this.#leaveAgain(enrolment.name));
    if (!this.#keys.enrolled()) return;
    try {
      await this.#flush(enrolment.name);
      // Of clones nothing is heard that counts.
      const isCloned = this.#clones.told(Date.now())?.phase === "cloned";
      const next = isCloned ? Date.now() + SILENCE_CHECK_MS : await this.#listen(enrolment.name);
      const waiting = this.#outbox.isEmpty() ? null : Date.now() + SILENCE_CHECK_MS;
      const again = next ?? waiting;
      if (again !== null) await this.#alarm.atLatest(again);
    } catch (error) {
      console.error(JSON.stringify({ node: enrolment.name, message: "alarm failed", error: String(error) }));
      await this.#alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
    }
  }

  #listen(name: string): Promise<number | null> {
    const [leaseDurationMs, lastReportMs] = [this.#facts.leaseMs(), this.#lastReportMs];
    const client = this.#kube(ALARM_WITHIN_MS);
    return listen(this.#witness(), { name, leaseDurationMs, lastReportMs, client });
  }

  #kube(withinMs: number): KubeClient {
    return kubeOf(this.env, () => Date.now())(withinMs);
  }

  #witness() {
    return { records: this.#records, journal: this.#journal, nowMs: Date.now() };
  }

  /** What changed on this machine, newest first. */
  history(query: HistoryQuery): HistoryEntry[] {
    return this.#history.read(query);
  }

  /** An operator asks: the next report registers, also where the Node was deleted. */
  registerAgain(): boolean {
    return registerAgain(this.#records, this.#journal, Date.now());
  }

  /** Who reports with this machine's key. */
  clones(): ListedSenders {
    return this.#clones.list(Date.now());
  }

  /** An operator says that one machine alone has the key now; false: that was not in doubt. */
  believe(): boolean {
    return this.#clones.end(Date.now());
  }

  /** From whom is not believed, as much as tells who it is. */
  #wantsFacts({ factsDigest, startId }: Report): boolean {
    if (this.#clones.disbelief(startId, Date.now())) return !this.#clones.knows(factsDigest);
    return this.#facts.isNews(factsDigest);
  }

  #challenge(reason: "ticket-stale" | "facts-unknown", report: Report): Answer {
    return refusal(reason, { ticket: this.#offerTicket(), factsWanted: this.#wantsFacts(report) });
  }

  /** Of a machine that asks too often a fresh request changes nothing. */
  #use(use: TicketUse): Freshness<Promise<Answer>> {
    const freshness = useTicket(this.#tickets, use, Date.now(), this.#facts.leaseMs());
    if (freshness.kind !== "fresh" || this.#mayAsk(Date.now())) return freshness;
    const answer = Promise.resolve(refusal("rate-limited", { retryAfterSeconds: RETRY_AFTER_SECONDS }));
    freshness.remember(answer);
    return { kind: "answered", answer };
  }

  #offerTicket(): string {
    return offerTicket(this.#tickets, Date.now(), this.#facts.leaseMs(), randomNonce);
  }
}
