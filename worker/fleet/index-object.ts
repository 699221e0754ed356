// The fleet index: one Durable Object with a row for each machine, told by machines' objects on transitions only. A thin
// shell around worker/fleet. A steady fleet writes nothing to it and asks it nothing.
import type { MachineFilter } from "../../shared/fleet/machine-filter.ts";
import type { UpgradeAnswer } from "../../shared/protocol/answers.ts";
import type { VersionsAnswer } from "../../shared/protocol/version-answers.ts";
import { VERSION } from "../../shared/version.ts";
import type { MachineSummary, MachineTelling, ToldUntil } from "../../shared/fleet/summary.ts";
import type { FleetHistoryEntry } from "../../shared/protocol/fleet-answers.ts";
import { BULK_LIMITS } from "../../shared/protocol/limits.ts";
import type { Result } from "../../shared/result.ts";
import type { BackupRows } from "../../shared/protocol/backup.ts";
import type { PendingMachine } from "../../shared/protocol/operator-answers.ts";
import type { OutageAnswer, OutageQuery, OutagesAnswer } from "../../shared/protocol/outages.ts";
import { type Environment, origins, privateWebhooks, registry } from "../env.ts";
import type { Measured } from "../metrics/metrics.ts";
import { migrate, StoredObject } from "../storage/migrations.ts";
import { Duties } from "./duties.ts";
import { type FleetHistoryRequest, readFleetHistory } from "./fleet-history.ts";
import { FleetMetrics } from "./fleet-metrics.ts";
import type { IndexState } from "../../shared/protocol/index-answers.ts";
import { IndexRepair } from "./index-repair.ts";
import { type FleetChange, MachineRows } from "./machine-rows.ts";
import { type MachinePage, MachineSearch, type MachineSearchRequest } from "./machine-search.ts";
import { Feed } from "./feed.ts";
import { FormTurns } from "./form-turns.ts";
import type { FeedHolder } from "./feed-tickets.ts";
import { Outages, type OutagesRequest } from "./outages.ts";
import { type NotificationTable, notificationRows, takeNotificationRows } from "./notification-backup.ts";
import { Notifications } from "./notifications.ts";
import { INDEX_MIGRATIONS } from "./schema.ts";
import { LETTER_WITHIN_MS } from "./send-letter.ts";
import { Rollouts } from "./rollouts.ts";
import { shimVersions } from "./shim-versions.ts";
import { type MachineStanding, type SilentMachine, silentSince, standingsOf } from "./standings.ts";
import { logFailure } from "../log.ts";
import { currentMs, pause } from "../clock.ts";

const DAY_MS = 24 * 3600 * 1000;

export class IndexObject extends StoredObject {
  readonly #rows: MachineRows;
  readonly #outages: Outages;
  readonly #feed: Feed;
  readonly #notifications: Notifications;
  readonly #rollouts: Rollouts;
  readonly #repair: IndexRepair;
  readonly #duties: Duties;
  readonly #search: MachineSearch;
  readonly #formTurns: FormTurns;
  readonly #metrics: FleetMetrics;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, INDEX_MIGRATIONS);
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
    });
    this.#repair = this.#openRepair();
    // What has to be done at certain times; `arm` after each change of what is due.
    const duties = [this.#notifications.duty(), ...this.#repair.duties];
    this.#duties = new Duties({ duties, storage: ctx.storage, nowMs: currentMs, log: logFailure });
  }

  override alarm(): Promise<void> {
    return this.#duties.rang();
  }

  /** For machines' objects, on transitions. Safe to repeat: it is stored before it is answered, and counts once. */
  async tell(telling: MachineTelling): Promise<ToldUntil> {
    const { until, change } = this.ctx.storage.transactionSync(() => {
      const taken = this.#rows.take(telling);
      if (taken.change) this.#noteChange(taken.change);
      return taken;
    });
    if (change) this.#feed.told();
    await this.#duties.arm();
    return until;
  }

  /** For the object of a machine that has left or was forgotten. Safe to repeat. */
  async remove(name: string, generation: number, text: string): Promise<void> {
    this.#remove(name, generation, text);
    await this.#duties.arm();
  }

  #remove(name: string, generation: number, text: string): void {
    const change = this.ctx.storage.transactionSync(() => {
      const removed = this.#rows.remove(name, generation, currentMs(), text);
      if (removed) this.#noteChange(removed);
      return removed;
    });
    if (change) this.#feed.told();
  }

  /** For operators: has all machines' objects tell everything again. */
  async repair(who: string): Promise<IndexState> {
    this.#repair.begin(`${who} asked for it`);
    await this.#duties.arm();
    return this.#repair.state();
  }

  /** For operators. */
  state(): Promise<IndexState> {
    return this.#repair.state();
  }

  /** At certain times: sees that the alarm is set, and that an index that was lost is repaired. */
  async care(): Promise<void> {
    await this.#repair.care();
    await this.#duties.arm();
  }

  /** As told last; null: the index does not know it. Asks no machine's object. */
  summary(name: string): MachineSummary | null {
    return this.#rows.summary(name);
  }

  /** A page of the machines that match. Fails where `beside` names none. */
  machines(request: MachineSearchRequest): Result<MachinePage> {
    return this.#search.page(request);
  }

  /** What changed on all machines, newest first. */
  history(request: FleetHistoryRequest): FleetHistoryEntry[] {
    return readFleetHistory(this.ctx.storage.sql, request);
  }

  /** For GET /metrics; `isEach`: with lines for each machine. */
  metrics(isEach: boolean): Measured {
    return this.#metrics.measure(isEach);
  }

  /** How these machines stand; of those that it does not know as well. */
  standings(names: string[]): MachineStanding[] {
    return standingsOf(this.ctx.storage.sql, names);
  }

  /** How all that match stand, by name; of too many, one more than may be. Fails where `beside` names none. */
  standingsOf(filter: MachineFilter): Result<MachineStanding[]> {
    return this.#search.standings(filter, BULK_LIMITS.machines + 1);
  }

  /** The shims' versions, beside the Worker's own. */
  versions(): VersionsAnswer {
    return shimVersions(this.ctx.storage.sql, VERSION);
  }

  // The rollout, as worker/fleet/rollouts.ts has it.

  rollout() {
    return this.#rollouts.show();
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

  /** For the object of a machine that asks whether to upgrade its shim from this version. */
  upgrade(name: string, version: string): UpgradeAnswer {
    return this.#rollouts.ask(name, version);
  }

  /** Gives a machine's object a turn to change the form of its Node. Returns the milliseconds until then. */
  formTurn(): number {
    return this.#formTurns.take(currentMs());
  }

  /** The machines with a Node that have been silent for so many days. */
  silentFor(days: number): SilentMachine[] {
    return silentSince(this.ctx.storage.sql, currentMs() - days * DAY_MS);
  }

  outages(query: OutagesRequest): OutagesAnswer {
    return this.#outages.list(query);
  }

  /** null: there is none of this ID. */
  outage(id: number, query: OutageQuery): OutageAnswer | null {
    return this.#outages.get(id, query);
  }

  /** Opens a feed; the one thing that comes over HTTP, since a socket does. */
  override fetch(request: Request): Promise<Response> {
    return this.#feed.open(request);
  }

  override webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): void {
    this.#feed.receive(socket, frame);
  }

  /** null: too many are out. */
  feedTicket(holder: FeedHolder): Promise<{ ticket: string; endsMs: number } | null> {
    return this.#feed.ticket(holder);
  }

  /** For the registry, when it changes who waits for an approval. Safe to repeat. */
  setPending(pending: PendingMachine[]): void {
    this.#feed.setPending(pending);
  }

  // For operators: notifications, as worker/fleet/notifications.ts has them.

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

  letters(receiver: string) {
    return this.#notifications.letters(receiver);
  }

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

  /** For a backup. */
  backupRows(table: NotificationTable): Promise<BackupRows> {
    return notificationRows(this.ctx.storage.sql, table, this.env.KID_MAC_KEYS);
  }

  /** For an import. Safe to repeat; the error: the MAC keys do not open them. */
  async takeBackupRows(pages: BackupRows[]): Promise<Result<null>> {
    const taken = await takeNotificationRows(this.ctx.storage, pages, this.env.KID_MAC_KEYS);
    this.#notifications.lookAgain();
    return taken;
  }

  /** In the transaction of the change: what follows from it is stored with it. */
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
      tellAnew: (name) => env.NODES.getByName(name).tellAnew(),
      toldSummary: (name) => env.NODES.getByName(name).toldSummary(),
      summary: (name) => this.summary(name),
      countMachines: () => this.#rows.count(),
      remove: (...removed) => this.#remove(...removed),
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
      summary: (name) => this.#rows.summary(name),
      outageOf: (name, summary) => this.#outages.of(name, summary),
      machinesOf: (outage) => this.#outages.machinesOf(Number(outage)),
      send: (url, init) => fetch(url, init),
      withinMs: LETTER_WITHIN_MS,
      audit: (record) => registry(env).noteChange(record),
      arm: () => this.#duties.arm(),
      nowMs: currentMs,
      newId: () => crypto.randomUUID(),
      random: Math.random,
    });
  }
}
