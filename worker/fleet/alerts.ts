// Keeps the alerts of each receiver. A row of `watched` has a machine that concerns the receiver; a row of `alerts`
// has an alert that the receiver was notified of. Rows change on transitions only; deliveries.ts sends the
// messages.
import { type AlertMessage, messageText, type Alert } from "../../shared/fleet/alert.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { NOTIFICATION_LIMITS as LIMIT } from "../../shared/protocol/limits.ts";
import {
  alertOf,
  clusterCause,
  type ClusterEvidence,
  concernOf,
  GROWTH,
  isWritten,
  type KnownOutage,
  overAlert,
  type Watched,
  watchedAfter,
} from "./alert-rules.ts";
import { cell, column, hasRow, type Row } from "../storage/query.ts";
import { type DeliveryRates, subjectOf } from "./delivery-rates.ts";
import type { Diagnoses } from "./diagnoses.ts";
import { type Deliveries, LOST_DELIVERY, REPETITION } from "./deliveries.ts";
import type { FleetChange } from "./machine-rows.ts";
import type { Mutes } from "./mutes.ts";
import type { KeptReceiver, Receivers } from "./receivers.ts";

export interface AlertSurroundings {
  sql: SqlStorage;
  receivers: Receivers;
  mutes: Mutes;
  deliveries: Deliveries;
  rates: DeliveryRates;
  diagnoses: Diagnoses;
  deployment: string;
  origin: string;
  /** Returns a machine's summary; null if the index does not know the machine. */
  summary: (name: string) => MachineSummary | null;
  /** Returns the outage that a silent machine belongs to; null if the machine is silent alone. */
  outageOf: (name: string, summary: MachineSummary) => KnownOutage | null;
  /** Reports whether the outage has ended. One machine of an ended outage may still be silent. */
  isOver: (outage: string) => boolean;
  /** Returns the names of an outage's machines. */
  machinesOf: (outage: string) => string[];
  /** Returns a new unique ID; typically crypto.randomUUID. */
  newId: () => string;
}

/** The most rows that one transaction handles. */
const AT_ONCE = 500;
/** The time between checks of an open cluster alert: one machine with its own fault must not keep the alert open. */
const CHECK_CLUSTER_MS = 5 * 60_000;
const CLUSTER = "cluster";
const HELD = 2;
/** The wait before a new alert is tried again after its receiver had too many waiting deliveries. */
const POSTPONED_MS = 5 * 60_000;

type WatchedRow = Row<Watched> & {
  receiver: string;
  machine: string;
  alert: number | null;
  /** 1 if the row waits for the end of a mute, HELD if it waits for the receiver's limit of deliveries. */
  muted: number;
};
const WATCHED = `SELECT receiver, machine, state, since_ms AS sinceMs, told AS notified, alert, due_ms AS dueMs, muted
  FROM watched`;
/** A row of `alerts`. `said`: the alert as JSON. `open`: its number of machines now. `letter`: its delivery's ID. */
type AlertRow = {
  id: number;
  receiver: string;
  key: string;
  said: string;
  open: number;
  letter: number;
  due_ms: number | null;
};

/** The alerts that one receiver is notified of together. */
interface Batch {
  receiver: KeptReceiver;
  /** `row`: the ID of the alert's row. `follows`: the undelivered firing message of a resolved alert, or REPETITION. */
  alerts: { alert: Alert; row: number; follows: number | null }[];
}

/** The common data for all alerts of one turn. */
interface Turn {
  /** The receiver's rows that are due in this turn. */
  due: WatchedRow[];
  isFull: boolean;
  /** Why the cluster cannot be written; null if the cluster can be written. */
  cause: string | null;
  /** The open alerts that machines have joined in this turn. */
  joined: Set<number>;
  nowMs: number;
}

export class Alerts {
  readonly #in: AlertSurroundings;
  readonly #sql: SqlStorage;
  /** The names of the receivers with an open alert about the cluster; undefined until they are read from storage. */
  #clusterOpen: Set<string> | undefined;
  /** The time of the last check of the alerts about the cluster. After an eviction the next check is due at once. */
  #clusterCheckedMs = 0;
  /** true if the apiserver served the Worker at the last check of such an alert. */
  #didServe = false;

  constructor(surroundings: AlertSurroundings) {
    this.#in = surroundings;
    this.#sql = surroundings.sql;
  }

  /** Updates the rows of a machine that has changed. Call note in the transaction of the change. */
  note({ name, before, after }: FleetChange, nowMs: number): void {
    for (const receiver of this.#in.receivers.all()) {
      const state = concernOf(receiver, name, after);
      if (state === concernOf(receiver, name, before) && before?.sinceMs === after?.sinceMs) continue;
      const row = this.#row(receiver.name, name);
      const now = { state, sinceMs: after?.sinceMs ?? nowMs };
      const next = watchedAfter(row, now, { delayMs: receiver.settings.delaySeconds * 1000, nowMs });
      if (next === row) continue;
      const muted = row?.muted === HELD ? HELD : 0;
      const same = { receiver: receiver.name, machine: name, alert: row?.alert ?? null, muted };
      if (next) this.#put({ ...next, ...same });
      else this.#forget(receiver.name, name);
      // The alert ended after it was due, but before its message was sent.
      if (!next && muted === HELD) this.#in.receivers.countDropped(receiver.name);
    }
  }

  dueMs(): number | null {
    const query = `SELECT MIN(due_ms) FROM (SELECT MIN(due_ms) AS due_ms FROM watched WHERE due_ms IS NOT NULL
      UNION ALL SELECT MIN(due_ms) FROM alerts WHERE due_ms IS NOT NULL)`;
    const dueMs = cell<number | null>(this.#sql, query);
    if (this.#openOnCluster().size === 0) return dueMs;
    return Math.min(dueMs ?? Infinity, this.#clusterCheckedMs + CHECK_CLUSTER_MS);
  }

  /** Reports whether the next flush needs a ClusterEvidence. */
  needsEvidence(nowMs: number): boolean {
    const query = "SELECT 1 FROM watched WHERE due_ms <= ? AND state = 'cluster-unreachable' LIMIT 1";
    return this.#openOnCluster().size > 0 || hasRow(this.#sql, query, nowMs);
  }

  #openOnCluster(): Set<string> {
    this.#clusterOpen ??= new Set(
      column<string>(this.#sql, "SELECT receiver FROM alerts WHERE key = ?", CLUSTER),
    );
    return this.#clusterOpen;
  }

  firing(receiver: string): number {
    return cell(this.#sql, "SELECT COUNT(*) FROM alerts WHERE receiver = ?", receiver);
  }

  /** Makes all alerts due now that mutes have postponed. Call recheckMuted when a mute ends early. */
  recheckMuted(nowMs: number): void {
    this.#sql.exec("UPDATE watched SET due_ms = ? WHERE due_ms > ? AND muted = 1", nowMs, nowMs);
  }

  /** Changes how often active alerts are repeated. The new interval counts from each alert's last message. */
  repeatEach(receiver: string, minutes: { before: number; after: number }, nowMs: number): void {
    const [beforeMs, afterMs] = [minutes.before * 60_000, minutes.after * 60_000];
    const update = `UPDATE alerts SET due_ms = iif(?3 = 0, NULL, MAX(?4, IFNULL(due_ms - ?2, ?4) + ?3)) WHERE receiver = ?1`;
    this.#sql.exec(update, receiver, beforeMs, afterMs, nowMs);
  }

  /** Removes all rows of a receiver. */
  remove(receiver: string): void {
    const tables = ["watched", "alerts", "letters", "delivery_shares", "last_deliveries", "catch_ups"];
    for (const table of tables) this.#sql.exec(`DELETE FROM ${table} WHERE receiver = ?`, receiver);
    this.#clusterOpen = undefined;
  }

  /** Adds deliveries for all due alerts, resolutions and repetitions. Call flush in a transaction. */
  flush(nowMs: number, evidence: ClusterEvidence): void {
    const isCheckDue = nowMs >= this.#clusterCheckedMs + CHECK_CLUSTER_MS;
    if (isCheckDue) this.#clusterCheckedMs = nowMs;
    // Only a second check shows that the apiserver refuses Nodes: at the first, it may have just returned.
    const isCauseSent = isCheckDue && (evidence.fault !== null || this.#didServe);
    if (isCheckDue) this.#didServe = evidence.fault === null && this.#openOnCluster().size > 0;
    const query = `${WATCHED} WHERE due_ms <= ? ORDER BY due_ms LIMIT ?`;
    const due = this.#sql.exec<WatchedRow>(query, nowMs, AT_ONCE).toArray();
    const repeated = this.#sql
      .exec<AlertRow>("SELECT * FROM alerts WHERE due_ms <= ? ORDER BY due_ms LIMIT ?", nowMs, AT_ONCE)
      .toArray();
    for (const receiver of this.#in.receivers.all()) {
      const batch: Batch = { receiver, alerts: [] };
      const own = due.filter((row) => row.receiver === receiver.name);
      const causeBefore = clusterCause(evidence, this.#openOnCluster().has(receiver.name));
      const rows = own.filter((row) => !this.#isHeld(row, causeBefore, nowMs));
      for (const row of rows) this.#leave(batch, row, causeBefore, nowMs);
      const isOpen = this.#openOnCluster().has(receiver.name);
      const cause = clusterCause(evidence, isOpen);
      if (isOpen && cause === null) this.#endCluster(batch, nowMs);
      const isFull = this.#in.deliveries.isFull(receiver.name);
      const joined = new Set<number>();
      // A machine may have joined its outage's alert already, when the row of another machine was handled.
      for (const row of rows)
        if (row.dueMs !== null) this.#enter(batch, row, { due: rows, isFull, cause, joined, nowMs });
      for (const row of rows) this.#settle(row);
      for (const alert of joined) this.#sendGrown(batch, alert, evidence.fault);
      if (isOpen && isCauseSent && cause !== null) this.#sendCause(batch, cause);
      for (const row of repeated) if (row.receiver === receiver.name) this.#repeat(batch, row, nowMs);
      this.#write(batch, nowMs);
    }
  }

  /** Reports whether the row must wait: the receiver got too many deliveries. */
  #isHeld(row: WatchedRow, cause: string | null, nowMs: number): boolean {
    const waitMs = this.#in.rates.waitMs(row.receiver, this.#subjectOfRow(row, cause), nowMs);
    row.muted = 0;
    if (waitMs > 0) this.#put({ ...row, dueMs: nowMs + waitMs, muted: HELD });
    return waitMs > 0;
  }

  #subjectOfRow(row: WatchedRow, cause: string | null): string {
    const { machine, alert } = row;
    const query = "SELECT said FROM alerts WHERE id = ?";
    const [said] = column<string>(this.#sql, query, alert);
    if (said !== undefined) return this.#subjectOf(JSON.parse(said) as Alert);
    const { kind, outage } = this.#causeOf(row, this.#in.summary(machine), cause);
    return this.#subjectOf({ kind, address: outage?.address ?? "", names: [machine] });
  }

  #causeOf({ machine, state }: WatchedRow, summary: MachineSummary | null, cause: string | null) {
    const outage = summary && this.#in.outageOf(machine, summary);
    const isCluster = state === "cluster-unreachable" && cause !== null;
    const kind: Alert["kind"] = outage ? "outage" : isCluster ? "cluster" : "machine";
    return { kind, outage };
  }

  #subjectOf(alert: Pick<Alert, "kind" | "address" | "names">): string {
    return subjectOf(alert, this.#in.summary(alert.names[0] ?? "")?.key.token ?? "");
  }

  /** Removes a machine from its alert. If no machine is left, the alert is resolved. */
  #leave(batch: Batch, row: WatchedRow, cause: string | null, nowMs: number): void {
    const update = "UPDATE alerts SET open = open - 1 WHERE id = ? RETURNING *";
    const [alert] = this.#sql.exec<AlertRow>(update, row.alert);
    [row.notified, row.alert] = [null, null];
    if (!alert) return;
    const { kind, name } = JSON.parse(alert.said) as Alert;
    if (alert.open > 0 && !(kind === "outage" && this.#in.isOver(name))) return;
    const now = this.#in.summary(row.machine);
    // Only a machine whose Node the Worker has written shows that the cluster can be written again.
    if (kind === "cluster" && cause !== null && !isWritten(now)) return;
    this.#end(batch, alert, { untilMs: row.sinceMs, now, nowMs });
  }

  /** Ends the receiver's alert about the cluster, even if single machines still cannot be written. */
  #endCluster(batch: Batch, nowMs: number): void {
    const query = "SELECT * FROM alerts WHERE receiver = ? AND key = ?";
    for (const alert of this.#sql.exec<AlertRow>(query, batch.receiver.name, CLUSTER).toArray())
      this.#end(batch, alert, { untilMs: nowMs, now: null, nowMs });
  }

  /** Ends an alert. Each machine that is still in the alert becomes due for a new alert after the receiver's delay. */
  #end(
    { receiver, alerts }: Batch,
    alert: AlertRow,
    { untilMs, now, nowMs }: { untilMs: number; now: MachineSummary | null; nowMs: number },
  ): void {
    this.#sql.exec("DELETE FROM alerts WHERE id = ?", alert.id);
    if (alert.key === CLUSTER) this.#openOnCluster().delete(alert.receiver);
    const free = "UPDATE watched SET told = NULL, alert = NULL, due_ms = ? WHERE receiver = ? AND alert = ?";
    const dueMs = nowMs + receiver.settings.delaySeconds * 1000;
    this.#sql.exec(free, dueMs, alert.receiver, alert.id);
    if (alert.letter === LOST_DELIVERY) return;
    const over = overAlert(JSON.parse(alert.said) as Alert, untilMs, now);
    const follows = this.#in.deliveries.isKept(alert.letter) ? alert.letter : null;
    alerts.push({ alert: over, row: alert.id, follows });
  }

  /** Opens or joins an alert for a due machine, unless the machine is muted or the receiver's queue is full. */
  #enter(batch: Batch, row: WatchedRow, turn: Turn): void {
    const { receiver } = batch;
    const { due, isFull, cause, joined, nowMs } = turn;
    row.dueMs = null;
    const summary = this.#in.summary(row.machine);
    if (row.state === null || !summary || concernOf(receiver, row.machine, summary) !== row.state) {
      row.state = null;
      return;
    }
    const untilMs = this.#in.mutes.untilMs(row.machine, row.state, summary, nowMs);
    if (untilMs !== null || isFull) {
      [row.dueMs, row.muted] = untilMs === null ? [nowMs + POSTPONED_MS, 0] : [untilMs, 1];
      return;
    }
    const { kind, outage } = this.#causeOf(row, summary, cause);
    if (receiver.settings.outagesOnly && kind === "machine") return;
    const key = { machine: `machine ${row.machine}`, outage: `outage ${outage?.id}`, cluster: CLUSTER }[kind];
    const query = "UPDATE alerts SET open = open + 1 WHERE receiver = ? AND key = ? RETURNING id";
    const [open] = this.#sql.exec<{ id: number }>(query, receiver.name, key);
    if (open) {
      this.#join(row, open.id);
      joined.add(open.id);
      return;
    }
    const unreachable = kind === "cluster" ? this.#unreachable(receiver.name) : [];
    const others = outage ? this.#in.machinesOf(outage.id) : unreachable;
    const members = [row, ...this.#waiting(receiver, others, row, due, nowMs)];
    const { deployment, newId } = this.#in;
    const why = kind === "cluster" ? (cause ?? "") : "";
    const alert = alertOf(members, { kind, outage, summary, why, deployment, id: newId() });
    const insert = "INSERT INTO alerts VALUES (NULL, ?, ?, ?, ?, 0, ?) RETURNING id";
    const repeatMs = receiver.settings.repeatMinutes * 60_000;
    const dueMs = repeatMs > 0 ? nowMs + repeatMs : null;
    const values = [receiver.name, key, JSON.stringify(alert), members.length, dueMs];
    const id = cell<number>(this.#sql, insert, ...values);
    for (const member of members) {
      this.#join(member, id);
      if (!due.includes(member)) this.#put(member);
    }
    if (kind === "cluster") this.#openOnCluster().add(receiver.name);
    batch.alerts.push({ alert, row: id, follows: null });
  }

  /** Sends an alert again if its machines have multiplied by GROWTH: the first ones must not hide many later ones. */
  #sendGrown(batch: Batch, id: number, fault: string | null): void {
    const row = this.#sql.exec<AlertRow>("SELECT * FROM alerts WHERE id = ?", id).one();
    const firing = JSON.parse(row.said) as Alert;
    const why = row.key === CLUSTER ? (fault ?? firing.why) : "";
    if (row.open >= GROWTH * firing.machines) this.#sendAgain(batch, row, { ...firing, why });
  }

  /** Sends the receiver's alert about the cluster again if `why` differs from the alert's cause. */
  #sendCause(batch: Batch, why: string): void {
    const query = "SELECT * FROM alerts WHERE receiver = ? AND key = ?";
    for (const row of this.#sql.exec<AlertRow>(query, batch.receiver.name, CLUSTER).toArray()) {
      const firing = JSON.parse(row.said) as Alert;
      if (firing.why !== why) this.#sendAgain(batch, row, { ...firing, why });
    }
  }

  /** Sends an open alert again, with the machines that are in the alert now. */
  #sendAgain({ alerts }: Batch, row: AlertRow, firing: Alert): void {
    const query =
      "SELECT machine FROM watched WHERE receiver = ? AND alert = ? ORDER BY since_ms, machine LIMIT ?";
    const names = column<string>(this.#sql, query, row.receiver, row.id, LIMIT.namesInAlert);
    const alert: Alert = { ...firing, machines: Math.max(row.open, firing.machines), names };
    this.#sql.exec("UPDATE alerts SET said = ? WHERE id = ?", JSON.stringify(alert), row.id);
    const follows = row.letter === LOST_DELIVERY ? null : REPETITION;
    alerts.push({ alert: { ...alert, isRepeated: true }, row: row.id, follows });
  }

  #join(row: WatchedRow, alert: number): void {
    Object.assign(row, { notified: row.state, alert, dueMs: null });
  }

  /** Returns the rows of machines that wait for an alert of this cause and are not muted. */
  #waiting(
    receiver: KeptReceiver,
    names: string[],
    first: WatchedRow,
    due: WatchedRow[],
    nowMs: number,
  ): WatchedRow[] {
    const dueOf = new Map(due.map((row) => [row.machine, row]));
    return names.flatMap((name) => {
      if (name === first.machine) return [];
      const row = dueOf.get(name) ?? this.#row(receiver.name, name);
      if (!row || row.notified !== null || row.state !== first.state) return [];
      const summary = this.#in.summary(name);
      const mayJoin =
        summary &&
        concernOf(receiver, name, summary) === row.state &&
        this.#in.mutes.untilMs(name, first.state!, summary, nowMs) === null;
      return mayJoin ? [row] : [];
    });
  }

  #unreachable(receiver: string): string[] {
    const query =
      "SELECT machine FROM watched WHERE receiver = ? AND state = 'cluster-unreachable' AND told IS NULL";
    return column(this.#sql, query, receiver);
  }

  /** Repeats an active alert, unless it is muted or the receiver has waiting deliveries. */
  #repeat(batch: Batch, row: AlertRow, nowMs: number): void {
    const { name, settings } = batch.receiver;
    const firing = JSON.parse(row.said) as Alert;
    const isMuted = firing.names.every((machine) => {
      const summary = this.#in.summary(machine);
      return !summary || this.#in.mutes.untilMs(machine, firing.state, summary, nowMs) !== null;
    });
    const waitMs = this.#in.rates.waitMs(name, this.#subjectOf(firing), nowMs);
    const update = "UPDATE alerts SET due_ms = ? WHERE id = ? RETURNING *";
    const dueMs = nowMs + (waitMs || settings.repeatMinutes * 60_000);
    const [open] = this.#sql.exec<AlertRow>(update, dueMs, row.id);
    if (!open || waitMs > 0 || isMuted || this.#in.deliveries.waiting(name).count > 0) return;
    // If the alert's last message did not arrive, the message is sent again unchanged, with the resolutions after it.
    if (this.#in.deliveries.resend(name, row.letter, nowMs)) return;
    const why = (firing.kind === "machine" && this.#in.summary(firing.name)?.why) || firing.why;
    const alert: Alert = { ...firing, why, isRepeated: true, machines: Math.max(open.open, firing.machines) };
    batch.alerts.push({ alert, row: row.id, follows: row.letter === LOST_DELIVERY ? null : REPETITION });
  }

  /** Adds the batch's deliveries, resolutions first. Alerts that wait for different deliveries share no message. */
  #write({ receiver, alerts }: Batch, nowMs: number): void {
    if (alerts.length === 0) return;
    const { deliveries, deployment, origin, newId } = this.#in;
    const { dropped } = this.#in.receivers.queue(receiver.name)!;
    const head = { deployment, origin, receiver: receiver.name, atMs: nowMs, dropped };
    const followed = new Set(alerts.map(({ follows }) => follows));
    followed.delete(null);
    const subjects: string[][] = [];
    for (const follows of [...followed, null]) {
      const these = alerts.filter((each) => each.follows === follows);
      for (let from = 0; from < these.length; from += LIMIT.alertsInLetter) {
        const part = these.slice(from, from + LIMIT.alertsInLetter);
        subjects.push(part.map(({ alert }) => this.#subjectOf(alert)));
        const id = newId();
        const message: AlertMessage = { ...head, id, alerts: part.map(({ alert }) => alert) };
        const body = messageText(receiver.settings.format, message);
        const delivery = deliveries.add({ receiver: receiver.name, message: id, body }, nowMs, follows);
        this.#in.diagnoses.note(receiver, delivery, message);
        // Stores the delivery with an alert's firing message. A repetition keeps the stored delivery.
        const set = "UPDATE alerts SET letter = ? WHERE id = ? AND letter <= 0";
        for (const { row } of part) this.#sql.exec(set, delivery, row);
      }
    }
    this.#in.rates.spend(receiver.name, subjects, nowMs);
    deliveries.prune(receiver.name);
  }

  #row(receiver: string, machine: string): WatchedRow | null {
    const query = `${WATCHED} WHERE receiver = ? AND machine = ?`;
    return this.#sql.exec<WatchedRow>(query, receiver, machine).toArray()[0] ?? null;
  }

  #settle(row: WatchedRow): void {
    if (row.state === null) this.#forget(row.receiver, row.machine);
    else this.#put(row);
  }

  #put({ receiver, machine, state, sinceMs, notified, alert, dueMs, muted }: WatchedRow): void {
    const insert = "INSERT OR REPLACE INTO watched VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    this.#sql.exec(insert, receiver, machine, state, sinceMs, notified, alert, dueMs, muted);
  }

  #forget(receiver: string, machine: string): void {
    this.#sql.exec("DELETE FROM watched WHERE receiver = ? AND machine = ?", receiver, machine);
  }
}
