// The rows of receivers: what each is to be told, where, with which secret, and how its letters fare. Sends nothing.
import type { AlertState } from "../../shared/fleet/alert.ts";
import type { MessageFormat, ReceiverChange } from "../../shared/protocol/receiver-api.ts";
import { waitMs } from "./alert-rules.ts";
import type { AlertFilter } from "./mutes.ts";

interface ReceiverSettings extends AlertFilter {
  format: MessageFormat;
  states: readonly AlertState[];
  outagesOnly: boolean;
  delaySeconds: number;
  /** 0: never. */
  repeatMinutes: number;
}

export interface KeptReceiver {
  name: string;
  settings: ReceiverSettings;
}

/** Of the one that is asked. */
export interface ReceiverTarget {
  url: string;
  /** "": none. */
  authorization: string;
  /** Signs its letters: `whsec_` and 32 bytes in base64. */
  secret: string;
}

export interface ReceiverQueue {
  /** Of the next attempt; null: no letter waits. */
  next_ms: number | null;
  /** Attempts that failed, since one arrived. */
  failed: number;
  failing_since_ms: number | null;
  error: string;
  dropped: number;
}

type ReceiverRow = { name: string; settings: string } & ReceiverTarget &
  ReceiverQueue &
  Record<string, SqlStorageValue>;

/** Alertmanager forgets with a restart what it is not told again. */
const REPEATED_BY_DEFAULT: Record<MessageFormat, number> = { json: 0, slack: 0, alertmanager: 60 };

/** `whsec_` and 32 random bytes, as Standard Webhooks has it. */
export function newSigningSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}

export class Receivers {
  readonly #sql: SqlStorage;
  /** Of an object that is in memory: each change of the index asks for them. */
  #known: KeptReceiver[] | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Others have changed the rows. */
  lookAgain(): void {
    this.#known = undefined;
  }

  /** By name. */
  all(): readonly KeptReceiver[] {
    return (this.#known ??= this.#sql
      .exec<{ name: string; settings: string }>("SELECT name, settings FROM receivers ORDER BY name")
      .toArray()
      .map(({ name, settings }) => ({ name, settings: JSON.parse(settings) as ReceiverSettings })));
  }

  target(name: string): ReceiverTarget | null {
    const query = "SELECT url, authorization, secret FROM receivers WHERE name = ?";
    return this.#sql.exec<ReceiverRow>(query, name).toArray()[0] ?? null;
  }

  queue(name: string): ReceiverQueue | null {
    const query = "SELECT next_ms, failed, failing_since_ms, error, dropped FROM receivers WHERE name = ?";
    return this.#sql.exec<ReceiverRow>(query, name).toArray()[0] ?? null;
  }

  /** Adds one, or changes one that there is: an address, `authorization` or secret that is absent stays. */
  put(name: string, change: ReceiverChange, secret: string | null): void {
    const { url, authorization, newSecret: _, repeatMinutes, ...settings } = change;
    const before = this.target(name);
    const kept = { ...settings, repeatMinutes: repeatMinutes ?? REPEATED_BY_DEFAULT[settings.format] };
    this.#sql.exec(
      `INSERT INTO receivers VALUES (?1, ?2, ?3, ?4, ?5, NULL, 0, NULL, '', 0)
       ON CONFLICT (name) DO UPDATE SET settings = ?2, url = ?3, authorization = ?4, secret = ?5`,
      name,
      JSON.stringify(kept satisfies ReceiverSettings),
      url ?? before?.url ?? "",
      authorization ?? before?.authorization ?? "",
      secret ?? before?.secret ?? "",
    );
    this.#known = undefined;
  }

  /** False: there is none. */
  remove(name: string): boolean {
    this.#known = undefined;
    return this.#sql.exec("DELETE FROM receivers WHERE name = ? RETURNING name", name).toArray().length > 0;
  }

  dueMs(): number | null {
    return this.#sql.exec<{ ms: number | null }>("SELECT MIN(next_ms) AS ms FROM receivers").one().ms;
  }

  /** Whose turn it is: those that did not fail come first. */
  due(nowMs: number): string[] {
    const query = "SELECT name FROM receivers WHERE next_ms <= ? ORDER BY failed, next_ms";
    return this.#sql
      .exec<{ name: string }>(query, nowMs)
      .toArray()
      .map(({ name }) => name);
  }

  /** A letter arrived. `nextMs`: of the next attempt. */
  succeeded(name: string, nextMs: number | null): void {
    this.#sql.exec(
      "UPDATE receivers SET next_ms = ?, failed = 0, failing_since_ms = NULL, error = '' WHERE name = ?",
      nextMs,
      name,
    );
  }

  /** One did not. `askedMs`: how long it asks to wait. */
  failed(name: string, error: string, askedMs: number, nowMs: number, random: () => number): void {
    const failed = (this.queue(name)?.failed ?? 0) + 1;
    this.#sql.exec(
      "UPDATE receivers SET next_ms = ?, failed = ?, failing_since_ms = IFNULL(failing_since_ms, ?), error = ? WHERE name = ?",
      nowMs + waitMs(failed, askedMs, random),
      failed,
      nowMs,
      error,
      name,
    );
  }

  /** Its letters are tried at this time, whatever happened before; null: none waits. */
  tryAt(name: string, atMs: number | null): void {
    this.#sql.exec("UPDATE receivers SET next_ms = ? WHERE name = ?", atMs, name);
  }
}
