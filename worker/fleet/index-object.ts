// The fleet index: one Durable Object with a row per machine, updated by the machines' objects on transitions only.
import type { MachineFilter } from "../../shared/fleet/search-filter.ts";
import type { MachineSummary, MachineUpdate, UpdatedUntil } from "../../shared/fleet/summary.ts";
import type { UpgradeAnswer } from "../../shared/protocol/answers.ts";
import type { BackupRows } from "../../shared/protocol/backup.ts";
import type { FleetHistoryEntry, IndexState, VersionsAnswer } from "../../shared/protocol/fleet-answers.ts";
import { BULK_LIMITS } from "../../shared/protocol/limits.ts";
import type { PendingMachine } from "../../shared/protocol/operator-answers.ts";
import type { OutageAnswer, OutagesAnswer } from "../../shared/protocol/outages.ts";
import type { OutageQuery } from "../../shared/protocol/fleet-api.ts";
import type { LabelRequirement } from "../../shared/kubernetes/label-selector.ts";
import type { Result } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import { currentMs, pause } from "../clock.ts";
import { type Environment, origins, privateWebhooks, registry, sharedLimitsFactor } from "../env.ts";
import { withDeadline } from "../kube/deadline.ts";
import { logFailure } from "../log.ts";
import type { Measured } from "../metrics/metrics.ts";
import { migrate, StoredObject } from "../storage/migrations.ts";
import type { NodeLoad, NodeTurn } from "../storage/records.ts";
import { AlarmTasks } from "./alarm-tasks.ts";
import { DELIVERY_WITHIN_MS } from "./deliveries.ts";
import { Feed, type FeedHolder } from "./feed.ts";
import { FleetMetrics } from "./fleet-metrics.ts";
import { INDEX_MIGRATIONS } from "./index-migrations.ts";
import { IndexRepair } from "./index-repair.ts";
import {
  type FleetChange,
  type FleetHistoryRequest,
  MachineRows,
  readFleetHistory,
  type RuleMatches,
} from "./machine-rows.ts";
import {
  type MachinePage,
  MachineSearch,
  type MachineSearchRequest,
  type MachineStatus,
  nameWithin,
  type SilentMachine,
  silentSince,
  statusesOf,
} from "./machine-search.ts";
import { notificationRows, Notifications, type NotificationTable } from "./notifications.ts";
import { Outages, type OutagesRequest } from "./outages.ts";
import { Rollouts, shimVersions } from "./rollouts.ts";
import { FormTurns, type Held, HeldBack, NodeShares } from "./shares.ts";

const DAY_MS = 24 * 3600 * 1000;

export class IndexObject extends StoredObject {
  readonly #rows: MachineRows;
  readonly #outages: Outages;
  readonly #feed: Feed;
  readonly #notifications: Notifications;
  readonly #rollouts: Rollouts;
  readonly #repair: IndexRepair;
  readonly #tasks: AlarmTasks;
  readonly #search: MachineSearch;
  readonly #formTurns: FormTurns;
  readonly #heldBack: HeldBack;
  readonly #nodeShares: NodeShares;
  readonly #metrics: FleetMetrics;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, INDEX_MIGRATIONS);
    this.#heldBack = new HeldBack(ctx.storage.sql);
    this.#nodeShares = new NodeShares(ctx.storage.sql, this.#heldBack);
    this.#rows = new MachineRows(ctx.storage.sql);
    this.#search = new MachineSearch(ctx.storage.sql, this.#rows);
    this.#outages = new Outages(ctx.storage.sql);
    this.#formTurns = new FormTurns(ctx.storage.sql);
    this.#feed = new Feed(ctx, env, this.#rows, this.#outages);
    this.#notifications = this.#openNotifications();
    this.#rollouts = this.#openRollouts();
    this.#metrics = new FleetMetrics(ctx.storage.sql, {
      rows: this.#rows,
      outages: this.#outages,
      notifications: this.#notifications,
      rollouts: this.#rollouts,
      heldBack: () => this.heldBack(),
    });
    this.#repair = this.#openRepair();
    // Each change that may make a task due earlier must be followed by a call to `arm`.
    const tasks = [this.#notifications.task(), this.#feed.task(), ...this.#repair.tasks];
    this.#tasks = new AlarmTasks({ tasks, storage: ctx.storage, nowMs: currentMs, log: logFailure });
  }

  override alarm(): Promise<void> {
    return this.#tasks.rang();
  }

  /** Stores an update from a machine's object, then answers. Safe to repeat. */
  async tell(update: MachineUpdate): Promise<UpdatedUntil> {
    const { until, change } = this.ctx.storage.transactionSync(() => {
      const taken = this.#rows.take(update);
      if (taken.change) this.#noteChange(taken.change);
      return taken;
    });
    if (change) this.#feed.flush();
    await this.#tasks.arm();
    return until;
  }

  /** Removes a machine that has left or was forgotten. Safe to repeat. */
  async remove(name: string, generation: number, text: string): Promise<void> {
    this.#remove(name, generation, text);
    await this.#tasks.arm();
  }

  #remove(name: string, generation: number, text: string): void {
    const change = this.ctx.storage.transactionSync(() => {
      const removed = this.#rows.remove(name, generation, currentMs(), text);
      if (removed) this.#noteChange(removed);
      return removed;
    });
    if (change) this.#feed.flush();
  }

  /** Starts a repair: all machines' objects send everything again. */
  async repair(who: string): Promise<IndexState> {
    this.#repair.begin(`${who} asked for it`);
    await this.#tasks.arm();
    return this.#repair.state();
  }

  state(): Promise<IndexState> {
    return this.#repair.state();
  }

  /** Sets a lost alarm again, and starts a repair if the index was lost. A cron trigger calls this method. */
  async care(): Promise<void> {
    await this.#repair.care();
    await this.#tasks.arm();
  }

  /** Returns a machine's last summary; null if the index does not know the machine. */
  summary(name: string): MachineSummary | null {
    return this.#rows.summary(name);
  }

  /** Returns the labels with these keys, for each machine whose Node the index knows. */
  labels(names: string[], keys: string[]): Record<string, Record<string, string>> {
    const chosen = names.flatMap((name) => {
      const labels = Object.entries(this.#rows.summary(name)?.labels ?? {});
      const named = labels.filter(([key]) => keys.includes(key));
      return labels.length === 0 ? [] : [[name, Object.fromEntries(named)] as const];
    });
    return Object.fromEntries(chosen);
  }

  /** Returns a page of the machines that match the request. Fails if no machine has the name in `beside`. */
  machines(request: MachineSearchRequest): Result<MachinePage> {
    return this.#search.page(request);
  }

  /** Returns the names of the machines that match the selector, sorted. `among`: null for all machines. */
  matching(selector: LabelRequirement[], among: string[] | null): string[] {
    return this.#search.matching(selector, among);
  }

  /** Returns the history of all machines, newest first. */
  history({
    within,
    ...request
  }: FleetHistoryRequest & { within?: LabelRequirement[] }): FleetHistoryEntry[] {
    return readFleetHistory(this.ctx.storage.sql, request, within && nameWithin(within));
  }

  /** Returns the samples for GET /metrics. `isEach`: with lines for each machine. */
  metrics(isEach: boolean): Measured {
    return this.#metrics.measure(isEach);
  }

  /** Returns each machine's status, in the index or not. Older versions call `standings` during a deploy. */
  standings(names: string[]): MachineStatus[] {
    return statusesOf(this.ctx.storage.sql, names);
  }

  /**
   * Returns the status of each machine that matches, sorted by name: at most BULK_LIMITS.machines and one more. The
   * name `standingsOf` stays, since older versions call it during a deploy.
   */
  standingsOf(filter: MachineFilter, within?: LabelRequirement[]): Result<MachineStatus[]> {
    return this.#search.statuses(filter, BULK_LIMITS.machines + 1, within);
  }

  /** Returns the number of machines that each feature rule matches, without rules that match none. */
  ruleMatches(): RuleMatches[] {
    return this.#rows.ruleMatches();
  }

  /** Counts the machines by shim version. */
  versions(): VersionsAnswer {
    return shimVersions(this.ctx.storage.sql, VERSION);
  }

  /** As `versions`, of the machines that match. An earlier version would ignore an argument: `…Of` are methods. */
  versionsOf(within: LabelRequirement[]): VersionsAnswer {
    return shimVersions(this.ctx.storage.sql, VERSION, nameWithin(within));
  }

  rollout() {
    return this.#rollouts.show();
  }

  rolloutOf(within: LabelRequirement[]) {
    return this.#rollouts.show(nameWithin(within));
  }

  putRollout(...asked: Parameters<Rollouts["put"]>) {
    return this.#rollouts.put(...asked);
  }

  stopRollout(who: string) {
    return this.#rollouts.stop(who);
  }

  endRollout(who: string) {
    return this.#rollouts.end(who);
  }

  /** Decides whether a machine whose shim has `version` upgrades the shim, and returns the answer for the machine. */
  upgrade(name: string, version: string): UpgradeAnswer {
    return this.#rollouts.ask(name, version);
  }

  /** Assigns the time at which a machine may change its Node's form. Returns the wait in milliseconds. */
  formTurn(): number {
    return this.#formTurns.take(currentMs());
  }

  /** Assigns the time at which a machine with this join token may write a Node. */
  nodeTurn(token: string, load: NodeLoad): NodeTurn {
    return this.ctx.storage.transactionSync(() =>
      this.#nodeShares.take(token, load, sharedLimitsFactor(this.env), currentMs()),
    );
  }

  /** Returns the shared limits that hold machines back now. */
  heldBack(): Held[] {
    return this.#heldBack.list(currentMs());
  }

  /** Returns the machines with a Node that have been silent for `days`. */
  silentFor(days: number): SilentMachine[] {
    return silentSince(this.ctx.storage.sql, currentMs() - days * DAY_MS);
  }

  outages(query: OutagesRequest): OutagesAnswer {
    return this.#outages.list(query);
  }

  outagesOf(within: LabelRequirement[], query: OutagesRequest): OutagesAnswer {
    return this.#outages.list(query, nameWithin(within));
  }

  /** Returns an outage with a page of its machines; null if no outage has this ID. */
  outage(id: number, query: OutageQuery): OutageAnswer | null {
    return this.#outages.get(id, query);
  }

  outageOf(within: LabelRequirement[], id: number, query: OutageQuery): OutageAnswer | null {
    return this.#outages.get(id, query, nameWithin(within));
  }

  /** Opens a feed. This method uses HTTP because only `fetch` can return a socket. */
  override async fetch(request: Request): Promise<Response> {
    const response = await this.#feed.open(request);
    await this.#tasks.arm();
    return response;
  }

  /** Checks the credentials of all feeds. Call recheckFeeds when a session or a secret has ended. */
  recheckFeeds(): void {
    this.#feed.recheck();
  }

  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): void {
    this.#feed.receive(socket, frame);
  }

  /** Creates a ticket for a feed; null if too many tickets are unused. */
  feedTicket(holder: FeedHolder): Promise<{ ticket: string; endsMs: number } | null> {
    return this.#feed.ticket(holder);
  }

  /** As feedTicket, for a holder with a selector, which `feedTicket` of an earlier version would ignore. */
  ticketWithin(holder: FeedHolder): ReturnType<Feed["ticket"]> {
    return this.#feed.ticket(holder);
  }

  /** Replaces the list of machines that wait for approval. Safe to repeat. */
  setPending(pending: PendingMachine[]): void {
    this.#feed.setPending(pending);
  }

  receivers() {
    return this.#notifications.list();
  }

  putReceiver(...asked: Parameters<Notifications["put"]>) {
    return this.#notifications.put(...asked);
  }

  removeReceiver(...asked: Parameters<Notifications["remove"]>) {
    return this.#notifications.remove(...asked);
  }

  testReceiver(...asked: Parameters<Notifications["test"]>) {
    return this.#notifications.test(...asked);
  }

  /** Returns a receiver's deliveries. The name `letters` stays, since older versions call it during a deploy. */
  letters(receiver: string) {
    return this.#notifications.deliveries(receiver);
  }

  /** Sends a dead delivery again. The name `resendLetter` stays, since older versions call it during a deploy. */
  resendLetter(...asked: Parameters<Notifications["resend"]>) {
    return this.#notifications.resend(...asked);
  }

  mutes() {
    return this.#notifications.mutes();
  }

  mute(...asked: Parameters<Notifications["mute"]>) {
    return this.#notifications.mute(...asked);
  }

  unmute(...asked: Parameters<Notifications["unmute"]>) {
    return this.#notifications.unmute(...asked);
  }

  backupRows(table: NotificationTable): Promise<BackupRows> {
    return notificationRows(this.ctx.storage.sql, table, this.env.KID_MAC_KEYS);
  }

  /** Imports rows of a backup. Safe to repeat. Fails if no MAC key opens the sealed rows. */
  takeBackupRows(pages: BackupRows[]): Promise<Result<null>> {
    return this.#notifications.takeRows(pages, this.env.KID_MAC_KEYS);
  }

  /** Stores all effects of a change, within the transaction of the change. */
  #noteChange(change: FleetChange): void {
    this.#metrics.noteChange(change, currentMs());
    this.#outages.note(change);
    this.#feed.note(change);
    this.#notifications.note(change);
    this.#rollouts.note(change);
  }

  #openRepair(): IndexRepair {
    const { env, ctx } = this;
    return new IndexRepair({
      sql: ctx.storage.sql,
      registry: () => registry(env),
      sendAll: (name) => env.NODES.getByName(name).tellAnew(),
      sentSummary: (name) => env.NODES.getByName(name).toldSummary(),
      summary: (name) => this.summary(name),
      countMachines: () => this.#rows.count(),
      remove: (...removed) => this.#remove(...removed),
      timer: env.timer,
      nowMs: currentMs,
      pause,
    });
  }

  #openRollouts(): Rollouts {
    const { env, ctx } = this;
    return new Rollouts({
      sql: ctx.storage.sql,
      transaction: (work) => ctx.storage.transactionSync(work),
      summary: (name) => this.#rows.summary(name),
      audit: (record) => registry(env).noteChange(record),
      nowMs: currentMs,
      log: logFailure,
    });
  }

  #openNotifications(): Notifications {
    const { env, ctx } = this;
    return new Notifications({
      sql: ctx.storage.sql,
      transaction: (work) => ctx.storage.transactionSync(work),
      deployment: env.DEPLOYMENT,
      origin: origins(env)[0] ?? "",
      allowed: privateWebhooks(env),
      limitsFactor: () => sharedLimitsFactor(env),
      summary: (name) => this.#rows.summary(name),
      outageOf: (name, summary) => this.#outages.of(name, summary),
      isOver: (outage) => this.#outages.isOver(Number(outage)),
      machinesOf: (outage) => this.#outages.machinesOf(Number(outage)),
      counts: () => this.#rows.counts(),
      clusterFault: () =>
        withDeadline(PROBE_ANSWER_MS, () => clusterFault(env), null, env.timer).catch(() => null),
      silentInOutages: () => this.#outages.silent().reduce((sum, { silent }) => sum + silent, 0),
      diagnose: async (...asked) => (await import("./diagnose.ts")).diagnose(env, ...asked),
      send: (url, init) => fetch(url, init),
      withinMs: DELIVERY_WITHIN_MS,
      timer: env.timer,
      audit: (record) => registry(env).noteChange(record),
      arm: () => this.#tasks.arm(),
      nowMs: currentMs,
      newId: () => crypto.randomUUID(),
      random: Math.random,
    });
  }
}

/** The deadline of the registry's answer about its probe: longer than the registry waits for the apiserver. */
const PROBE_ANSWER_MS = 5000;

/** Returns the fault that the registry's probe of the apiserver found, up to its first colon; null without a fault. */
async function clusterFault(env: Environment): Promise<string | null> {
  const { finding } = (await registry(env).readiness()).apiserver;
  if (finding.state === "ok") return null;
  const [fault = ""] = finding.message.split(":");
  return fault.replace(/^it /, "the apiserver ");
}
