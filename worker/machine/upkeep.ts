// Keeps the machine's Node true by its latest report: runs one tick at a time, sends the events that wait, and checks
// for silence. Its own state may be lost in an eviction.
import type { Report } from "../../shared/protocol/report.ts";
import type { NodeMarks } from "../../shared/node/own-labels.ts";
import { type Environment, machineRequests, nodeMarks } from "../env.ts";
import { heldToken, kubeConnector } from "../kube/connect.ts";
import type { HeldToken } from "../kube/held-token.ts";
import type { RequestKind, KubeClient } from "../kube/kube-client.ts";
import { machineLog } from "../log.ts";
import type { TickMemory, TickOutcome } from "../tick/context.ts";
import { isReady } from "../tick/phase.ts";
import { REMOVAL_REQUESTS, RequestBudget } from "../tick/request-budget.ts";
import { tick } from "../tick/tick.ts";
import type { MachineState } from "./machine-state.ts";
import { firstReportInMs } from "./report-interval.ts";
import { checkSilence, SILENCE_CHECK_MS } from "./silence.ts";
import { singleFlight } from "./single-flight.ts";

/** The time limit of sending events, and of an alarm's calls. */
const ALARM_WITHIN_MS = 2000;
/** In these phases the apiserver answers, so that events can be sent. */
const FLUSHING_PHASES = new Set<TickOutcome["phase"]>(["registered", "name taken", "node deleted"]);

export class Upkeep {
  readonly #env: Environment;
  readonly #state: MachineState;
  readonly #token: HeldToken;
  readonly #singleTick = singleFlight(() => this.#tick());
  #marks: NodeMarks | undefined;
  #budget: RequestBudget | undefined;
  #memory: TickMemory = {};
  #latest: Report | undefined;
  #lastReportMs: number | undefined;

  constructor(env: Environment, state: MachineState) {
    this.#env = env;
    this.#state = state;
    this.#token = heldToken(env);
  }

  /** A variable that cannot be read must not keep the object from waking: its alarm would be given up in minutes. */
  get #requests(): RequestBudget {
    return (this.#budget ??= new RequestBudget(this.#state.records, machineRequests(this.#env), () =>
      Date.now(),
    ));
  }

  /** Runs a tick with this report; a tick in progress is followed by another one with the newest report. */
  keepTrue(report: Report, nowMs: number): Promise<TickOutcome> {
    this.#latest = report;
    this.#lastReportMs = nowMs;
    return this.#singleTick();
  }

  /** The machine reported, although its report is not applied. */
  noteContact(nowMs: number): void {
    this.#lastReportMs = nowMs;
  }

  /** Once it resolves, no tick is left that could write for a machine that is not enrolled any more. */
  async finish(): Promise<void> {
    await this.#singleTick().catch(() => undefined);
  }

  /** Makes clients with the token at hand. */
  connector(mayAsk: (what: RequestKind) => boolean): (withinMs: number) => KubeClient {
    return kubeConnector(this.#env, this.#token, () => Date.now(), mayAsk);
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
  }

  /** undefined: not since the object was evicted. */
  get lastReportMs(): number | undefined {
    return this.#lastReportMs;
  }

  /** Is the last known Node Ready? */
  isReady(): boolean {
    return isReady(this.#state.records.get("node")?.node);
  }

  /** Sends the events that wait; those that cannot be sent now keep waiting. */
  async flush(name: string): Promise<void> {
    const { outbox } = this.#state;
    if (outbox.isEmpty() || !this.#env.KUBE_URL || !this.#requests.allows("event")) return;
    const failed = await outbox.flush(this.#kube(), name, () => Date.now());
    this.#requests.keep();
    if (failed) machineLog(name)("events wait", failed);
  }

  /** Between reports: flushes events and records silence. Never renews a lease, writes a status or registers. */
  async betweenReports(name: string): Promise<void> {
    const { alarm, outbox } = this.#state;
    const inAWhile = () => Date.now() + SILENCE_CHECK_MS;
    try {
      await this.flush(name);
      const next = await this.#checkSilence(name);
      const again = next ?? (outbox.isEmpty() ? null : inAWhile());
      if (again !== null) await alarm.atLatest(again);
    } catch (error) {
      console.error(JSON.stringify({ node: name, message: "alarm failed", error: String(error) }));
      await alarm.atLatest(inAWhile());
    }
  }

  /** Clones are never silent: nobody could say which of them is. */
  #checkSilence(name: string): Promise<number | null> {
    const { senders, facts } = this.#state;
    const nowMs = Date.now();
    if (senders.notice(nowMs)?.phase === "cloned") return Promise.resolve(nowMs + SILENCE_CHECK_MS);
    const [leaseDurationMs, lastReportMs] = [facts.leaseMs(), this.#lastReportMs];
    return checkSilence(this.#state, { name, leaseDurationMs, lastReportMs, client: this.#kube(), nowMs });
  }

  async #tick(): Promise<TickOutcome> {
    const { records, journal, keys, senders, facts } = this.#state;
    const enrolment = records.get("enrolment");
    if (!keys.enrolled()) return { phase: "node deleted", ready: false };
    const report = this.#latest;
    if (!enrolment || !report) throw new Error("a tick without an enrolment and a report");
    // Duplicates may have been detected since the report was decided about.
    const suspension = senders.suspension(report.startId, Date.now());
    if (suspension) return { ...suspension, ready: false };
    const wasRegistered = records.get("registration")?.startId === report.startId;
    // The token at hand serves meanwhile: the tick does not wait.
    const refreshed = this.#env.KUBE_URL ? this.#token.refresh(!wasRegistered) : undefined;
    const outcome = await tick({
      env: this.#env,
      marks: (this.#marks ??= nodeMarks(this.#env)),
      token: this.#token,
      enrolment,
      report,
      facts: facts.current(),
      records,
      journal,
      memory: this.#memory,
      requests: this.#requests,
      nowMs: () => Date.now(),
      random: Math.random,
    });
    await refreshed;
    this.#requests.keep();
    // The events of a registration are sent with the next report, so that the Node is Ready sooner.
    if (!wasRegistered && outcome.phase === "registered")
      return { reportInMs: firstReportInMs(facts.timing(), Math.random), ...outcome };
    if (FLUSHING_PHASES.has(outcome.phase)) await this.flush(enrolment.name);
    return outcome;
  }

  #kube(): KubeClient {
    return this.connector((what) => this.#requests.take(what))(ALARM_WITHIN_MS);
  }
}
