// Stores receivers: their settings, address and secret, and the time of their next delivery.
import { backOff } from "../../shared/back-off.ts";
import type { AlertState } from "../../shared/fleet/alert.ts";
import type { MessageFormat, ReceiverChange } from "../../shared/protocol/receiver-api.ts";
import { cell, column, hasRow, type Row } from "../storage/query.ts";
import type { AlertFilter } from "./mutes.ts";

interface ReceiverSettings extends AlertFilter {
  format: MessageFormat;
  states: readonly AlertState[];
  outagesOnly: boolean;
  /** Absent in settings that an earlier Worker stored. */
  withDiagnosis?: boolean;
  delaySeconds: number;
  /** The number of minutes between repetitions of an active alert; 0: alerts are not repeated. */
  repeatMinutes: number;
}

export interface KeptReceiver {
  name: string;
  settings: ReceiverSettings;
}

/** The address of a receiver, and the secrets for sending to it. */
export interface ReceiverTarget {
  url: string;
  /** The value of the header `authorization`; "" without this header. */
  authorization: string;
  /** The key that signs deliveries: `whsec_` and 32 bytes in base64. */
  secret: string;
}

export interface ReceiverQueue {
  /** The time of the next attempt to deliver; null if no delivery waits. */
  next_ms: number | null;
  /** The number of failed attempts since the last delivery that arrived. */
  failed: number;
  failing_since_ms: number | null;
  error: string;
  dropped: number;
}

/** Creates the table of each receiver's last delivery. `error` is "" if the delivery arrived. */
export const LAST_DELIVERIES_MIGRATION = `
  CREATE TABLE last_deliveries (
    receiver TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, error TEXT NOT NULL, is_test INTEGER NOT NULL
  ) WITHOUT ROWID;`;

interface LastDelivery {
  atMs: number;
  /** The reason why the delivery did not arrive; "" if it arrived. */
  error: string;
  isTest: boolean;
}

/** The default minutes between repetitions. Alertmanager forgets its alerts at a restart, so it needs repetitions. */
const REPEATED_BY_DEFAULT: Record<MessageFormat, number> = { json: 0, slack: 0, alertmanager: 60 };

/** Returns a new key for signing deliveries: `whsec_` and 32 random bytes, as Standard Webhooks demands. */
export const newSigningSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

export class Receivers {
  readonly #sql: SqlStorage;
  /** The cached receivers, since each change of the index reads all of them; undefined until the first read. */
  #known: KeptReceiver[] | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  reload(): void {
    this.#known = undefined;
  }

  /** Returns all receivers, sorted by name. */
  all(): readonly KeptReceiver[] {
    return (this.#known ??= this.#sql
      .exec<{ name: string; settings: string }>("SELECT name, settings FROM receivers ORDER BY name")
      .toArray()
      .map(({ name, settings }) => ({ name, settings: JSON.parse(settings) as ReceiverSettings })));
  }

  find(name: string): KeptReceiver | undefined {
    return this.all().find((each) => each.name === name);
  }

  target(name: string): ReceiverTarget | null {
    const query = "SELECT url, authorization, secret FROM receivers WHERE name = ?";
    return this.#sql.exec<Row<ReceiverTarget>>(query, name).toArray()[0] ?? null;
  }

  queue(name: string): ReceiverQueue | null {
    const query = "SELECT next_ms, failed, failing_since_ms, error, dropped FROM receivers WHERE name = ?";
    return this.#sql.exec<Row<ReceiverQueue>>(query, name).toArray()[0] ?? null;
  }

  /** Returns the last attempt to deliver to the receiver's address; null if no attempt is stored. */
  last(name: string): LastDelivery | null {
    const query = "SELECT at_ms AS atMs, error, is_test AS isTest FROM last_deliveries WHERE receiver = ?";
    const [row] = this.#sql.exec<{ atMs: number; error: string; isTest: number }>(query, name);
    return row ? { ...row, isTest: row.isTest === 1 } : null;
  }

  /** Stores an attempt to deliver, unless the receiver was removed meanwhile. */
  tried(name: string, { atMs, error, isTest }: LastDelivery): void {
    const insert =
      "INSERT OR REPLACE INTO last_deliveries SELECT name, ?, ?, ? FROM receivers WHERE name = ?";
    this.#sql.exec(insert, atMs, error, Number(isTest), name);
  }

  /** Adds or changes a receiver. If `authorization` or the secret is absent, the stored value stays. */
  put(name: string, change: ReceiverChange & { url: string }, secret: string | null): void {
    const { url, authorization, newSecret: _, repeatMinutes, ...settings } = change;
    const before = this.target(name);
    // A delivery to a former address proves nothing about this address.
    if (url !== before?.url) this.#sql.exec("DELETE FROM last_deliveries WHERE receiver = ?", name);
    const kept = { ...settings, repeatMinutes: repeatMinutes ?? REPEATED_BY_DEFAULT[settings.format] };
    this.#sql.exec(
      `INSERT INTO receivers VALUES (?1, ?2, ?3, ?4, ?5, NULL, 0, NULL, '', 0)
       ON CONFLICT (name) DO UPDATE SET settings = ?2, url = ?3, authorization = ?4, secret = ?5`,
      name,
      JSON.stringify(kept satisfies ReceiverSettings),
      url,
      authorization ?? before?.authorization ?? "",
      secret ?? before?.secret ?? "",
    );
    this.#known = undefined;
  }

  /** Counts an alert that ended before its message was sent, because the receiver's limit of deliveries was reached. */
  countDropped(name: string): void {
    this.#sql.exec("UPDATE receivers SET dropped = dropped + 1 WHERE name = ?", name);
  }

  /** Removes a receiver. Returns false if no receiver has the name. */
  remove(name: string): boolean {
    this.#known = undefined;
    return hasRow(this.#sql, "DELETE FROM receivers WHERE name = ? RETURNING name", name);
  }

  dueMs(): number | null {
    return cell(this.#sql, "SELECT MIN(next_ms) FROM receivers");
  }

  /** Returns the names of the receivers with due deliveries, receivers without failures first. */
  due(nowMs: number): string[] {
    return column(this.#sql, "SELECT name FROM receivers WHERE next_ms <= ? ORDER BY failed, next_ms", nowMs);
  }

  /** Records that a delivery arrived. `nextMs`: the time of the next attempt; null if no delivery waits. */
  succeeded(name: string, nextMs: number | null): void {
    const update =
      "UPDATE receivers SET next_ms = ?, failed = 0, failing_since_ms = NULL, error = '' WHERE name = ?";
    this.#sql.exec(update, nextMs, name);
  }

  /** Records a failed attempt. `askedMs`: the wait that the answer's Retry-After requests. */
  failed(name: string, error: string, askedMs: number, nowMs: number, random: () => number): void {
    const failed = this.queue(name)!.failed + 1;
    const update = `UPDATE receivers SET next_ms = ?, failed = ?, failing_since_ms = IFNULL(failing_since_ms, ?), error = ?
      WHERE name = ?`;
    this.#sql.exec(update, nowMs + waitMs(failed, askedMs, random), failed, nowMs, error, name);
  }

  /** Sets the time of the next attempt; null: no delivery waits. */
  tryAt(name: string, atMs: number | null): void {
    this.#sql.exec("UPDATE receivers SET next_ms = ? WHERE name = ?", atMs, name);
  }
}

const LEAST_WAIT_MS = 30_000;
const MOST_WAIT_MS = 3_600_000;
/** The time after which an undelivered message becomes dead. */
export const GIVEN_UP_MS = 24 * 3_600_000;

/** Returns the wait for a retry: 30 s, doubled per failure up to an hour, plus up to a quarter; at least `askedMs`. */
export function waitMs(failed: number, askedMs: number, random: () => number): number {
  const doubled = backOff(failed, LEAST_WAIT_MS, MOST_WAIT_MS);
  return Math.round(Math.max(Math.min(askedMs, GIVEN_UP_MS), doubled * (1 + random() / 4)));
}
