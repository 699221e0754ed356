// The Durable Object of one machine: a thin shell (storage, RPC) around the tick. Authenticates what the machine
// says, has it in SQLite before it answers, and decides nothing itself.
import { DurableObject } from "cloudflare:workers";
import { base64url, type CryptoKey } from "jose";
import {
  type LeaveAnswer,
  type Problem,
  REASONS,
  type Reason,
  type Report,
  type ReportAnswer,
} from "../shared/protocol.ts";
import type { ApiError } from "../shared/kubernetes/api-error.ts";
import { type Environment, origins } from "./env.ts";
import type { Admission } from "./fleet-object.ts";
import {
  importPublicKey,
  type MachineAction,
  type ProvenMachine,
  sha256Base64url,
  verifyRequest,
} from "./identity/jwt.ts";
import { type History, type HistoryEntry, type HistoryQuery, machineHistory } from "./history.ts";
import { type Journal, journal } from "./journal.ts";
import type { KubeClient } from "./kube-client.ts";
import { type LazyAlarm, lazyAlarm } from "./lazy-alarm.ts";
import { registeredUid } from "./own-node.ts";
import { removeFromCluster } from "./removal.ts";
import { nodeRecordStore, type NodeRecordStore } from "./node-state.ts";
import { eventOutbox, type Outbox } from "./outbox.ts";
import { SILENCE_CHECK_MS } from "./silence.ts";
import { problem } from "./problems.ts";
import { nodeTables } from "./tables.ts";
import { type Fault, parseReport, type ReportedFacts } from "./report.ts";
import { singleFlight } from "./single-flight.ts";
import { isReady, kubeOf, logOf, tick, type TickMemory, type TickOutcome } from "./tick.ts";
import { offerTicket, type Tickets, type TicketUse, useTicket } from "./tickets.ts";
import { hear, hearSetupFailed, listen, storeFacts, tell } from "./witness.ts";

export interface SignedRequest {
  name: string;
  kid: string;
  /** The JWT. */
  token: string;
  body: Uint8Array<ArrayBuffer>;
}

export type Answer = { status: 200; body: ReportAnswer | LeaveAnswer } | { status: number; body: Problem };

/** What an enrolled machine needs to report. */
interface Pinned {
  enrolment: string;
  /** Its first report needs no challenge. */
  ticket: string;
}

/** What events and the alarm may take of a tick's time. */
const ALARM_WITHIN_MS = 2000;
/** Two GETs and two DELETEs. */
const REMOVAL_WITHIN_MS = 4000;
/** What `forget` ends with. */
export const FORGOTTEN = "the machine has left";
const LEFT: Answer = { status: 200, body: { left: true } };
/** Until the first facts tell another one: the kubelet's nodeLeaseDurationSeconds. */
const DEFAULT_LEASE_SECONDS = 40;
/** Until the first facts tell another one: the kubelet's nodeStatusUpdateFrequency. */
const DEFAULT_INTERVAL_MS = 10_000;

export class NodeObject extends DurableObject<Environment> {
  readonly #records: NodeRecordStore;
  readonly #outbox: Outbox;
  readonly #history: History;
  readonly #journal: Journal;
  readonly #alarm: LazyAlarm;
  readonly #tickets: Tickets<Promise<Answer>> = {};
  readonly #memory: TickMemory = {};
  readonly #tick: () => Promise<TickOutcome>;
  #key: CryptoKey | undefined;
  #latest: Report | undefined;
  #lastReportMs: number | undefined;
  #refusedFacts: { digest: string; fault: Fault } | undefined;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    const { sql } = ctx.storage;
    const tables = nodeTables(sql);
    this.#records = nodeRecordStore(sql, tables);
    this.#outbox = eventOutbox(ctx.storage, tables, this.#records);
    this.#history = machineHistory(sql, tables);
    this.#journal = journal(ctx.storage, this.#records, this.#outbox, this.#history);
    this.#alarm = lazyAlarm(ctx.storage);
    this.#tick = singleFlight(() => this.#runTick());
  }

  /** Pins the machine's key, or finds that it is the pinned one. null: another one is, and nothing changes. */
  enrol(name: string, machine: ProvenMachine, admission: Admission): Pinned | null {
    const known = this.#records.get("enrolment");
    if (known && known.thumbprint !== machine.thumbprint) return null;
    const id = known?.id ?? randomNonce();
    if (!known)
      this.#records.put("enrolment", { id, name, ...machine, ...admission, pinnedAtMs: Date.now() });
    return { enrolment: id, ticket: this.#offerTicket() };
  }

  /** Handles a report whose kid the Worker has checked; the table in docs/protocol.md, first match wins. */
  async report(request: SignedRequest): Promise<Answer> {
    const signed = await this.#verify(request, "report");
    if (!signed) return refusal("unauthenticated");
    const parsed = await parseReport(request.body);
    if (parsed.kind === "not JSON") return refusal("invalid-json");
    if (parsed.kind === "invalid") {
      return refusal("invalid-body", { detail: parsed.fault.message, pointer: parsed.fault.path });
    }
    // From here to `remember` nothing is awaited: of two equal requests one is applied.
    if (this.#records.get("isLeaving")) return refusal("unauthenticated");
    const use = useTicket(this.#tickets, signed, Date.now(), this.#leaseMs());
    if (use.kind === "repeated") return use.answer;
    if (use.kind === "stale") return this.#challenge("ticket-stale", parsed.report.factsDigest);
    const answer = this.#apply(parsed.report, parsed.facts);
    use.remember(answer);
    return answer;
  }

  /** What a request of this machine says about its ticket; null where its key did not sign exactly this. */
  async #verify({ name, kid, token, body }: SignedRequest, action: MachineAction): Promise<TicketUse | null> {
    const enrolment = this.#records.get("enrolment");
    const [, thumbprint, enrolmentId] = kid.split(".");
    if (!enrolment || enrolment.thumbprint !== thumbprint || enrolment.id !== enrolmentId) return null;
    this.#key ??= await importPublicKey(enrolment.key);
    const bodyDigest = await sha256Base64url(body);
    const expected = { action, name, bodyDigest, origins: origins(this.env) };
    const claims = await verifyRequest(token, this.#key, expected);
    return claims && { ticket: claims.ticket, n: claims.n, body: bodyDigest };
  }

  /** The machine leaves. After a 200 the Worker calls `forget`. */
  async leave(request: SignedRequest): Promise<Answer> {
    const signed = await this.#verify(request, "leave");
    if (!signed) return refusal("unauthenticated");
    const use = useTicket(this.#tickets, signed, Date.now(), this.#leaseMs());
    if (use.kind === "repeated") return use.answer;
    if (use.kind === "stale") return refusal("ticket-stale", { ticket: this.#offerTicket() });
    const answer = this.remove();
    use.remember(answer);
    return answer;
  }

  /**
   * Removes lease and Node, and has the key refused for ever; reports are refused from now on. 200 as well where there
   * is nothing (any more) to remove. `forget` comes next.
   */
  async remove(): Promise<Answer> {
    const enrolment = this.#records.get("enrolment");
    if (!enrolment) return LEFT;
    const { name, thumbprint } = enrolment;
    this.#records.put("isLeaving", true);
    // A run in progress would make again what is removed.
    await this.#tick().catch(() => undefined);
    await this.#flush(name);
    const failed = await this.#removeFromCluster(name);
    if (failed) {
      logOf(name)("not removed", failed);
      const ticket = this.#offerTicket();
      return refusal("not-removed", { ticket });
    }
    await this.env.FLEET.getByName("fleet").bury(name, thumbprint);
    logOf(name)("left");
    return LEFT;
  }

  /** Without an apiserver there is nothing to remove, unless there once was one. */
  async #removeFromCluster(name: string): Promise<ApiError | null> {
    const uid = registeredUid(this.#records);
    if (this.env.KUBE_URL === "" && uid === undefined) return null;
    const { DEPLOYMENT: deployment } = this.env;
    const client = this.#kube(REMOVAL_WITHIN_MS);
    return removeFromCluster({ client, name, deployment, registeredUid: uid, nowMs: Date.now() });
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

  /** What a fresh report changes is in SQLite before the first await. */
  async #apply(report: Report, facts: ReportedFacts): Promise<Answer> {
    const { setupError } = report.vitals;
    if (setupError !== undefined) return this.#setupFailed(setupError);
    if (facts.kind === "none" && this.#wantsFacts(report.factsDigest)) {
      return this.#challenge("facts-unknown", report.factsDigest);
    }
    if (facts.kind === "good") {
      storeFacts(this.#witness(), report.factsDigest, facts.facts);
      this.#refusedFacts = undefined;
    }
    if (facts.kind === "refused") this.#refusedFacts = { digest: report.factsDigest, fault: facts.fault };
    hear(this.#witness(), report);
    this.#latest = report;
    this.#lastReportMs = Date.now();
    // Set in the transaction of what the report changes.
    const alarm = this.#alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
    const outcome = await this.#tick();
    tell(this.#witness(), outcome.phase);
    await alarm;
    const refused =
      this.#refusedFacts?.digest === report.factsDigest ? { factsRefused: this.#refusedFacts.fault } : {};
    const body = { reportInMs: this.#reportInMs(), ...outcome, ...refused, ticket: this.#offerTicket() };
    return { status: 200, body };
  }

  /** Nothing is renewed or written: the machine is about to be silent. */
  async #setupFailed(setupError: string): Promise<Answer> {
    hearSetupFailed(this.#witness(), setupError);
    const alarm = this.#alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
    await this.#flush(this.#records.get("enrolment")?.name ?? "");
    await alarm;
    const ready = isReady(this.#records.get("node")?.node);
    const ticket = this.#offerTicket();
    return { status: 200, body: { phase: "setup failed", ready, ticket, reportInMs: this.#reportInMs() } };
  }

  async #runTick(): Promise<TickOutcome> {
    const enrolment = this.#records.get("enrolment");
    if (this.#records.get("isLeaving")) return { phase: "node deleted", ready: false };
    if (!enrolment || !this.#latest) throw new Error("a tick without an enrolment and a report");
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
    if (outcome.phase !== "registered") return outcome;
    // What a registration has to say follows with the next report: Ready comes first.
    if (!wasRegistered) return { reportInMs: this.#firstReportInMs(), ...outcome };
    await this.#flush(enrolment.name);
    return outcome;
  }

  /** Sends what waits; what cannot be sent now waits on. */
  async #flush(name: string): Promise<void> {
    if (this.#outbox.isEmpty() || this.env.KUBE_URL === "") return;
    const failed = await this.#outbox.flush(this.#kube(ALARM_WITHIN_MS), name, () => Date.now());
    if (failed) logOf(name)("events wait", failed);
  }

  /** Flushes the outbox and notes silence. Never renews a lease, writes a status or registers. */
  override async alarm(): Promise<void> {
    const enrolment = this.#records.get("enrolment");
    this.#alarm.rang();
    if (!enrolment || this.#records.get("isLeaving")) return;
    try {
      await this.#flush(enrolment.name);
      const next = await listen(this.#witness(), {
        name: enrolment.name,
        leaseDurationMs: this.#leaseMs(),
        lastReportMs: this.#lastReportMs,
        client: this.#kube(ALARM_WITHIN_MS),
      });
      const waiting = this.#outbox.isEmpty() ? null : Date.now() + SILENCE_CHECK_MS;
      const again = next ?? waiting;
      if (again !== null) await this.#alarm.atLatest(again);
    } catch (error) {
      console.error(JSON.stringify({ node: enrolment.name, message: "alarm failed", error: String(error) }));
      await this.#alarm.atLatest(Date.now() + SILENCE_CHECK_MS);
    }
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
    const known = this.#records.get("registration");
    if (!known) return false;
    this.#records.put("registration", { startId: "", phase: "registered" });
    this.#journal.note("registration", "an operator asked to register again", Date.now());
    return true;
  }

  #wantsFacts(digest: string): boolean {
    return this.#records.get("facts")?.digest !== digest && this.#refusedFacts?.digest !== digest;
  }

  #challenge(reason: "ticket-stale" | "facts-unknown", factsDigest: string): Answer {
    return refusal(reason, { ticket: this.#offerTicket(), factsWanted: this.#wantsFacts(factsDigest) });
  }

  #offerTicket(): string {
    return offerTicket(this.#tickets, Date.now(), this.#leaseMs(), randomNonce);
  }

  #leaseMs(): number {
    const settings = this.#records.get("facts")?.facts.settings;
    return (settings?.nodeLeaseDurationSeconds ?? DEFAULT_LEASE_SECONDS) * 1000;
  }

  /** Two to six per cent before the interval: the object is dropped 10 s after its last request. */
  #reportInMs(): number {
    const settings = this.#records.get("facts")?.facts.settings;
    const intervalMs = settings?.nodeStatusUpdateFrequencyMs ?? DEFAULT_INTERVAL_MS;
    return Math.round(intervalMs * (0.94 + 0.04 * Math.random()));
  }

  /** Sooner: events wait. At any time in more than half an interval: a fleet that started together spreads. */
  #firstReportInMs(): number {
    return Math.round(this.#reportInMs() * (0.4 + 0.6 * Math.random()));
  }
}

function refusal(reason: Reason, more: Partial<Problem> = {}): Answer {
  return { status: REASONS[reason], body: problem(reason, more) };
}

function randomNonce(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(16)));
}
