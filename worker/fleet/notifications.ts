// Connects receivers, alerts, mutes and deliveries. A change's messages are stored in the transaction of the change.
import * as z from "zod/mini";
import { entriesOf } from "../../shared/deployment/check-result.ts";
import { testText } from "../../shared/fleet/alert.ts";
import type { FleetCounts } from "../../shared/fleet/state.ts";
import type { BackupCell, BackupRows } from "../../shared/protocol/backup.ts";
import { NOTIFICATION_LIMITS } from "../../shared/protocol/limits.ts";
import type {
  ChangedReceiver,
  ListedLetter,
  ListedMute,
  ListedReceiver,
  ReceiverTest,
} from "../../shared/protocol/receiver-answers.ts";
import type { NewMute, ReceiverChange } from "../../shared/protocol/receiver-api.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { column } from "../storage/query.ts";
import { sealer } from "../storage/sealed-text.ts";
import type { AlarmTask } from "./alarm-tasks.ts";
import { Alerts, type AlertSurroundings } from "./alerts.ts";
import {
  isRefusedForGood,
  Deliveries,
  type DeliveryOutcome,
  type SendDependencies,
  sendDelivery,
  webhookAddress,
} from "./deliveries.ts";
import { CatchUps } from "./catch-ups.ts";
import { DeliveryRates } from "./delivery-rates.ts";
import { Diagnoses, type DiagnosesSurroundings } from "./diagnoses.ts";
import type { FleetChange } from "./machine-rows.ts";
import { type FieldFault, Mutes } from "./mutes.ts";
import { newSigningSecret, Receivers } from "./receivers.ts";

export const NOTIFICATIONS_MIGRATION = `
  CREATE TABLE receivers (
    name TEXT PRIMARY KEY, settings TEXT NOT NULL, url TEXT NOT NULL, authorization TEXT NOT NULL, secret TEXT NOT NULL,
    next_ms INTEGER, failed INTEGER NOT NULL, failing_since_ms INTEGER, error TEXT NOT NULL, dropped INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE mutes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, from_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL, filter TEXT NOT NULL,
    comment TEXT NOT NULL, who TEXT NOT NULL
  );
  CREATE TABLE watched (
    receiver TEXT NOT NULL, machine TEXT NOT NULL, state TEXT, since_ms INTEGER NOT NULL, told TEXT, alert INTEGER,
    due_ms INTEGER, muted INTEGER NOT NULL, PRIMARY KEY (receiver, machine)
  ) WITHOUT ROWID;
  CREATE INDEX watched_by_due ON watched (due_ms) WHERE due_ms IS NOT NULL;
  CREATE TABLE alerts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT NOT NULL, key TEXT NOT NULL, said TEXT NOT NULL,
    open INTEGER NOT NULL, letter INTEGER NOT NULL, due_ms INTEGER
  );
  CREATE UNIQUE INDEX alerts_by_key ON alerts (receiver, key);
  CREATE INDEX alerts_by_due ON alerts (due_ms) WHERE due_ms IS NOT NULL;
  CREATE TABLE letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT NOT NULL, message TEXT NOT NULL, body TEXT NOT NULL,
    made_ms INTEGER NOT NULL, dead INTEGER NOT NULL, follows INTEGER, error TEXT NOT NULL
  );
  CREATE INDEX letters_by_receiver ON letters (receiver, dead);`;

/** The most receivers that are sent deliveries at the same time. */
const AT_ONCE = 4;
/** The time after which a turn of the alarm starts no further request. */
const TURN_MS = 5000;

interface NotificationSurroundings
  extends
    Omit<AlertSurroundings, "receivers" | "mutes" | "deliveries" | "rates" | "diagnoses">,
    SendDependencies,
    DiagnosesSurroundings {
  /** Returns the deployment's SHARED_LIMITS_FACTOR. */
  limitsFactor: () => number;
  /** Returns the number of machines in each state. */
  counts: () => FleetCounts;
  /** Returns the fault that a probe of the apiserver found; null without a fault or a result. Never rejects. */
  clusterFault: () => Promise<string | null>;
  /** Returns a random number from 0 to 1; typically Math.random. */
  random: () => number;
  /** Records an operator's action in the audit log. The caller executes the action afterwards. */
  audit: (record: NotificationRecord) => Promise<void>;
  /** Sets the alarm for the next due delivery or alert. */
  arm: () => Promise<void>;
}

interface NotificationRecord {
  who: string;
  what: "receiver.set" | "receiver.remove" | "receiver.test" | "letter.resend" | "mute.create" | "mute.end";
  /** The name of a receiver, or the ID of a mute. */
  target: string;
  detail: string;
}

export class Notifications {
  readonly #in: NotificationSurroundings;
  readonly #receivers: Receivers;
  readonly #mutes: Mutes;
  readonly #deliveries: Deliveries;
  readonly #alerts: Alerts;
  readonly #catchUps: CatchUps;
  readonly #diagnoses: Diagnoses;

  constructor(surroundings: NotificationSurroundings) {
    this.#in = surroundings;
    const { sql } = surroundings;
    this.#receivers = new Receivers(sql);
    this.#mutes = new Mutes(sql);
    this.#deliveries = new Deliveries(sql);
    this.#catchUps = new CatchUps({ ...surroundings, receivers: this.#receivers });
    this.#diagnoses = new Diagnoses(surroundings);
    this.#alerts = new Alerts({
      ...surroundings,
      receivers: this.#receivers,
      mutes: this.#mutes,
      deliveries: this.#deliveries,
      rates: new DeliveryRates(sql, surroundings.limitsFactor),
      diagnoses: this.#diagnoses,
    });
  }

  /** Updates the alerts of all receivers. Call note in the transaction of the change, after Outages.note. */
  note(change: FleetChange): void {
    this.#alerts.note(change, this.#in.nowMs());
  }

  task(): AlarmTask {
    return {
      name: "notifications",
      dueMs: () => {
        const each = [this.#alerts, this.#receivers, this.#catchUps].map((part) => part.dueMs());
        const due = each.filter((ms) => ms !== null);
        return due.length === 0 ? null : Math.min(...due);
      },
      run: () => this.#run(),
    };
  }

  /** Adds those rows of a backup that do not exist yet. Safe to repeat. Fails if no key of `macKeys` opens a row. */
  async takeRows(pages: readonly BackupRows[], macKeys: string): Promise<Result<null>> {
    const { sql, transaction, nowMs, arm } = this.#in;
    const opened = await openedRows(pages, macKeys);
    if (!opened.ok) return opened;
    transaction(() => {
      // A restored receiver is notified of the present states, as a new receiver is.
      for (const name of insertRows(sql, opened.value)) this.#catchUps.begin(name, nowMs());
    });
    this.#receivers.reload();
    this.#mutes.reload();
    await arm();
    return success(null);
  }

  list(): ListedReceiver[] {
    return this.#receivers.all().map(({ name }) => this.#shown(name));
  }

  /** Adds (`isNew`) or changes a receiver. Fails with the invalid field; with null if no receiver has the name. */
  async put(
    name: string,
    change: ReceiverChange,
    isNew: boolean,
    who: string,
  ): Promise<Result<ChangedReceiver, FieldFault | null>> {
    const address = this.#addressFor(name, change, isNew);
    if (!address.ok) return address;
    const detail = `${change.format}, ${new URL(address.value).host}`;
    await this.#in.audit({ who, what: "receiver.set", target: name, detail });
    // Another request may have changed the receivers while the audit log was written.
    const url = this.#addressFor(name, change, isNew);
    if (!url.ok) return url;
    const stored = this.#receivers.target(name)?.url ?? url.value;
    // Another server must get neither the credential nor the signatures that the present one knows.
    const isMoved = new URL(stored).origin !== new URL(url.value).origin;
    const secret = isNew || isMoved || change.newSecret ? newSigningSecret() : null;
    const kept = isMoved ? { ...change, authorization: change.authorization ?? "" } : change;
    this.#in.transaction(() => {
      const nowMs = this.#in.nowMs();
      const before = this.#repeatMinutes(name);
      this.#receivers.put(name, { ...kept, url: url.value }, secret);
      this.#alerts.repeatEach(name, { before, after: this.#repeatMinutes(name) }, nowMs);
      if (isNew) this.#catchUps.begin(name, nowMs);
      // The new settings may fix the cause of failed deliveries, so the next attempt is due now.
      if (this.#deliveries.first(name)) this.#receivers.tryAt(name, nowMs);
    });
    const shown = this.#shown(name);
    await this.#in.arm();
    return success({ ...shown, secret });
  }

  /** Removes a receiver with its alerts and deliveries. Returns false if no receiver has the name. */
  async remove(name: string, who: string): Promise<boolean> {
    if (!this.#receivers.target(name)) return false;
    await this.#in.audit({ who, what: "receiver.remove", target: name, detail: "" });
    return this.#in.transaction(() => {
      this.#alerts.remove(name);
      return this.#receivers.remove(name);
    });
  }

  /** Sends one test message, without a retry, and stores and returns the result. Returns null if no receiver has the name. */
  async test(name: string, who: string): Promise<ReceiverTest | null> {
    const target = this.#receivers.target(name);
    if (!target) return null;
    // The receiver is read before the wait, in which an operator may remove the receiver.
    const { format } = this.#receivers.find(name)!.settings;
    await this.#in.audit({ who, what: "receiver.test", target: name, detail: "" });
    const { deployment, origin, newId, nowMs } = this.#in;
    const [atMs, message] = [nowMs(), newId()];
    const sent = { id: message, deployment, origin, receiver: name, atMs, dropped: 0, alerts: [] };
    const body = testText(format, sent);
    const outcome = await sendDelivery(this.#in, target, { message, body });
    const { arrived, status, answer } = outcome;
    this.#receivers.tried(name, { atMs: nowMs(), error: errorOf(outcome), isTest: true });
    // The receiver works again, so its waiting deliveries are due now.
    if (arrived && this.#deliveries.first(name)) {
      this.#receivers.tryAt(name, nowMs());
      await this.#in.arm();
    }
    return { arrived, status, answer, tookMs: nowMs() - atMs };
  }

  /** Returns the waiting and the dead deliveries of a receiver; null if no receiver has the name. */
  deliveries(name: string): ListedLetter[] | null {
    return this.#receivers.target(name) && this.#deliveries.list(name);
  }

  /** Sends a dead delivery again. Returns false if the receiver has no dead delivery with this ID. */
  async resend(name: string, id: number, who: string): Promise<boolean> {
    if (!this.#deliveries.isDead(name, id)) return false;
    await this.#in.audit({ who, what: "letter.resend", target: name, detail: `letter ${id}` });
    const nowMs = this.#in.nowMs();
    const isFound = this.#deliveries.resend(name, id, nowMs);
    this.#receivers.tryAt(name, nowMs);
    await this.#in.arm();
    return isFound;
  }

  mutes(): ListedMute[] {
    return this.#mutes.list(this.#in.nowMs());
  }

  async mute(mute: NewMute, who: string): Promise<Result<ListedMute, FieldFault>> {
    const fault = this.#mutes.faultOf(mute, this.#in.nowMs());
    if (fault) return failure(fault);
    const { names, selector, until } = mute;
    const detail = `until ${until}, names ${names || "any"}, labels ${selector || "any"}`;
    await this.#in.audit({ who, what: "mute.create", target: "mute", detail });
    return success(this.#mutes.create(mute, who, this.#in.nowMs()));
  }

  /** Ends a mute. Returns false if no mute has this ID. */
  async unmute(id: number, who: string): Promise<boolean> {
    if (!this.mutes().some((each) => each.id === id)) return false;
    await this.#in.audit({ who, what: "mute.end", target: `mute ${id}`, detail: "" });
    this.#mutes.end(id);
    this.#alerts.recheckMuted(this.#in.nowMs());
    await this.#in.arm();
    return true;
  }

  async #run(): Promise<void> {
    const { nowMs, transaction, counts } = this.#in;
    const fault = this.#alerts.needsEvidence(nowMs()) ? await this.#in.clusterFault() : null;
    const { "cluster-unreachable": unreachable = 0, ...others } = counts();
    const machines = Object.values(others).reduce((sum, count) => sum + count, unreachable);
    transaction(() => {
      this.#catchUps.turn(nowMs());
      this.#alerts.flush(nowMs(), { fault, unreachable, machines });
    });
    const due = this.#receivers.due(nowMs());
    const untilMs = nowMs() + TURN_MS;
    const deliver = async () => {
      for (let name = due.shift(); name !== undefined; name = due.shift()) await this.#deliver(name, untilMs);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, deliver));
  }

  /** Sends a receiver's deliveries in order, until one fails or `untilMs` is over. The later deliveries wait. */
  async #deliver(name: string, untilMs: number): Promise<void> {
    const { nowMs, transaction } = this.#in;
    for (let isGoing = true; isGoing && nowMs() < untilMs;) {
      const delivery = this.#deliveries.first(name);
      if (!delivery) {
        this.#receivers.tryAt(name, null);
        return;
      }
      const receiver = this.#receivers.find(name)!;
      // An operator may have removed the receiver while a machine was asked.
      if (receiver.settings.withDiagnosis && (await this.#diagnoses.complete(receiver, delivery.id)))
        continue;
      const outcome = await sendDelivery(this.#in, this.#receivers.target(name)!, delivery);
      const { arrived, status } = outcome;
      const error = errorOf(outcome);
      isGoing = arrived || isRefusedForGood(status);
      transaction(() => {
        this.#receivers.tried(name, { atMs: nowMs(), error, isTest: false });
        if (arrived) this.#deliveries.arrived(delivery.id);
        else if (isGoing) this.#deliveries.die(delivery, error);
        else this.#deliveries.dieOfAge(name, error, nowMs());
        const nextMs = this.#deliveries.first(name) ? nowMs() : null;
        if (isGoing || nextMs === null) this.#receivers.succeeded(name, nextMs);
        else this.#receivers.failed(name, error, outcome.retryAfterMs, nowMs(), this.#in.random);
      });
    }
  }

  #repeatMinutes(name: string): number {
    return this.#receivers.find(name)?.settings.repeatMinutes ?? 0;
  }

  /** Returns a receiver's normalized address. Fails with the invalid field; with null if no receiver has the name. */
  #addressFor(name: string, { url }: ReceiverChange, isNew: boolean): Result<string, FieldFault | null> {
    const known = this.#receivers.target(name);
    if (isNew && known) return failure({ path: "/name", message: "there is a receiver of this name" });
    if (!isNew && !known) return failure(null);
    const address = webhookAddress(url ?? known?.url ?? "", this.#in.allowed);
    if (!address.ok) return failure({ path: "/url", message: address.error });
    const { receivers } = NOTIFICATION_LIMITS;
    if (isNew && this.#receivers.all().length >= receivers)
      return failure({ path: "", message: `there are ${receivers} receivers: remove one first` });
    return address;
  }

  #shown(name: string): ListedReceiver {
    const { settings } = this.#receivers.find(name)!;
    const { url, authorization } = this.#receivers.target(name)!;
    const { next_ms, failing_since_ms, error, dropped } = this.#receivers.queue(name)!;
    const last = this.#receivers.last(name);
    const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
    return {
      name,
      ...settings,
      withDiagnosis: settings.withDiagnosis ?? false,
      states: [...settings.states],
      url: `${new URL(url).origin}/…`,
      hasAuthorization: authorization !== "",
      waiting: this.#deliveries.waiting(name).count,
      dead: this.#deliveries.dead(name),
      dropped,
      firing: this.#alerts.firing(name),
      failingSince: time(failing_since_ms),
      error,
      nextAttemptAt: time(next_ms),
      lastDelivery: last && {
        at: new Date(last.atMs).toISOString(),
        arrived: last.error === "",
        error: last.error,
        isTest: last.isTest,
      },
    };
  }
}

/** Returns the reason why a delivery did not arrive; "" if it arrived. */
const errorOf = ({ arrived, status, answer }: DeliveryOutcome): string => {
  if (arrived) return "";
  return status === null ? answer : `HTTP ${status}: ${answer}`;
};

export type NotificationTable = "receivers" | "mutes";

const COLUMNS = {
  receivers: ["name", "settings", "sealed"],
  mutes: ["from_ms", "until_ms", "filter", "comment", "who"],
} as const satisfies Record<NotificationTable, readonly string[]>;

const targetSchema = z.object({ url: z.string(), authorization: z.string(), secret: z.string() });
type Target = z.infer<typeof targetSchema>;

const sealerOf = (macKey: string) => sealer(macKey, "rollcall-backup");

/** Returns all rows of `table` for a backup. Addresses and secrets are sealed with the first of `macKeys`. */
export async function notificationRows(
  sql: SqlStorage,
  table: NotificationTable,
  macKeys: string,
): Promise<BackupRows> {
  const columns = [...COLUMNS[table]];
  if (table === "mutes") {
    const rows = [...sql.exec(`SELECT ${columns.join(", ")} FROM mutes ORDER BY id`).raw()];
    return { table, columns, rows: rows as BackupCell[][] };
  }
  const { seal } = await sealerOf(entriesOf(macKeys)[0] ?? "");
  const kept = sql.exec<{ name: string; settings: string } & Target>("SELECT * FROM receivers ORDER BY name");
  const rows = kept.toArray().map(async ({ name, settings, url, authorization, secret }) => {
    const target: Target = { url, authorization, secret };
    return [name, settings, await seal(JSON.stringify(target))];
  });
  return { table, columns, rows: await Promise.all(rows) };
}

interface OpenedRows {
  receivers: NonNullable<Awaited<ReturnType<typeof openedReceiver>>>[];
  mutes: BackupCell[][];
}

/** Opens the sealed receivers of a backup. Fails if no key of `macKeys` opens a row. */
async function openedRows(pages: readonly BackupRows[], macKeys: string): Promise<Result<OpenedRows>> {
  const rowsOf = (table: NotificationTable) =>
    pages.filter((page) => page.table === table).flatMap(({ rows }) => rows);
  const opened = await Promise.all(rowsOf("receivers").map((row) => openedReceiver(row, macKeys)));
  const receivers = opened.filter((receiver) => receiver !== null);
  return receivers.length < opened.length
    ? failure("a receiver's address cannot be opened with KID_MAC_KEYS")
    : success({ receivers, mutes: rowsOf("mutes") });
}

/** Adds the rows that do not exist yet, and returns the names of the added receivers. */
function insertRows(sql: SqlStorage, { receivers, mutes }: OpenedRows): string[] {
  const mute = `INSERT INTO mutes SELECT NULL, ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM mutes
    WHERE from_ms = ?1 AND until_ms = ?2 AND filter = ?3 AND comment = ?4 AND who = ?5)`;
  for (const row of mutes) sql.exec(mute, ...row);
  const receiver = `INSERT INTO receivers VALUES (?, ?, ?, ?, ?, NULL, 0, NULL, '', 0)
    ON CONFLICT DO NOTHING RETURNING name`;
  return receivers.flatMap(({ name, settings, target: { url, authorization, secret } }) =>
    column<string>(sql, receiver, name, settings, url, authorization, secret),
  );
}

/** Opens the sealed part of a receiver's row; null if no key opens it. */
async function openedReceiver([name = null, settings = null, sealed]: BackupCell[], macKeys: string) {
  for (const macKey of entriesOf(macKeys)) {
    const text = await (await sealerOf(macKey)).open(String(sealed));
    const target = text === null ? null : targetSchema.safeParse(JSON.parse(text));
    if (target?.success) return { name, settings, target: target.data };
  }
  return null;
}
