// The letters of receivers: messages that wait to arrive, one row each and in order, and those that were given up. A
// letter is written with what it tells, and deleted once it has arrived. Sends nothing.
import { NOTIFICATION_LIMITS as LIMIT } from "../../shared/protocol/limits.ts";
import type { ListedLetter } from "../../shared/protocol/receiver-answers.ts";
import { GIVEN_UP_MS } from "./alert-rules.ts";

type LetterRow = {
  id: number;
  receiver: string;
  /** The same in each attempt: the header `webhook-id`. */
  message: string;
  body: string;
  made_ms: number;
  dead: number;
  /** The letter that has to arrive before: what was never told as firing is not over for a receiver. */
  follows: number | null;
  error: string;
};
export type Letter = Pick<LetterRow, "id" | "receiver" | "message" | "body">;

/** What a letter follows that only repeats what arrived before: once it was given up, nobody misses it. */
export const REPETITION = 0;

/** The letter of an alert is dead, and not kept any more. */
export const LOST_LETTER = -1;

export class Letters {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Returns its ID. `follows`: a letter that has not arrived, with which this one dies and is sent again. */
  add(letter: Omit<Letter, "id">, nowMs: number, follows: number | null): number {
    const insert = "INSERT INTO letters VALUES (NULL, ?, ?, ?, ?, ?, ?, ?) RETURNING id";
    const { receiver, message, body } = letter;
    const isDead = follows !== null && this.isDead(receiver, follows);
    const [dead, error] = isDead ? [1, `letter ${follows} did not arrive`] : [0, ""];
    const { id } = this.#sql
      .exec<{ id: number }>(insert, receiver, message, body, nowMs, dead, follows, error)
      .one();
    if (!isDead) this.#start(receiver, nowMs);
    return id;
  }

  /** The one that is to arrive next. */
  first(receiver: string): Letter | undefined {
    const query =
      "SELECT id, receiver, message, body FROM letters WHERE receiver = ? AND dead = 0 ORDER BY id LIMIT 1";
    return this.#sql.exec<Letter>(query, receiver).toArray()[0];
  }

  waiting(receiver: string): { letters: number; bytes: number } {
    const query =
      "SELECT COUNT(*) AS letters, IFNULL(SUM(LENGTH(CAST(body AS BLOB))), 0) AS bytes FROM letters WHERE receiver = ? AND dead = 0";
    return this.#sql.exec<{ letters: number; bytes: number }>(query, receiver).one();
  }

  /** Has it not arrived yet, or never? */
  isKept(id: number): boolean {
    return this.#sql.exec("SELECT 1 FROM letters WHERE id = ?", id).toArray().length > 0;
  }

  isDead(receiver: string, id: number): boolean {
    const query = "SELECT 1 FROM letters WHERE id = ? AND receiver = ? AND dead = 1";
    return this.#sql.exec(query, id, receiver).toArray().length > 0;
  }

  dead(receiver: string): number {
    const query = "SELECT COUNT(*) AS count FROM letters WHERE receiver = ? AND dead = 1";
    return this.#sql.exec<{ count: number }>(query, receiver).one().count;
  }

  arrived(id: number): void {
    this.#sql.exec("DELETE FROM letters WHERE id = ?", id);
  }

  /** It is given up, and so is what follows it. */
  die({ id, receiver }: Pick<Letter, "id" | "receiver">, error: string): void {
    this.#sql.exec("DELETE FROM letters WHERE id = ? AND follows = ?", id, REPETITION);
    this.#sql.exec(
      "UPDATE letters SET dead = 1, error = ? WHERE receiver = ? AND ? IN (id, follows)",
      error,
      receiver,
      id,
    );
    this.prune(receiver);
  }

  /** Gives up what has waited for a day. */
  dieOfAge(receiver: string, error: string, nowMs: number): void {
    const old =
      "SELECT id, receiver FROM letters WHERE receiver = ? AND dead = 0 AND made_ms <= ? ORDER BY id";
    for (const letter of this.#sql.exec<Letter>(old, receiver, nowMs - GIVEN_UP_MS).toArray())
      this.die(letter, error);
  }

  list(receiver: string): ListedLetter[] {
    return this.#sql
      .exec<LetterRow>(
        "SELECT * FROM letters WHERE receiver = ? ORDER BY dead DESC, id LIMIT ?",
        receiver,
        LIMIT.deadLetters * 2,
      )
      .toArray()
      .map(({ id, message, made_ms, dead, error, body }) => ({
        id,
        message,
        madeAt: new Date(made_ms).toISOString(),
        state: dead === 1 ? "dead" : "waiting",
        error,
        body,
      }));
  }

  /** Sends a dead letter again, with those that belong to it, in their order. False: there is no such dead letter. */
  resend(receiver: string, id: number, nowMs: number): boolean {
    const query = `UPDATE letters SET dead = 0, error = '', made_ms = ?3 WHERE receiver = ?1 AND dead = 1
      AND IFNULL(follows, id) = (SELECT IFNULL(follows, id) FROM letters WHERE id = ?2 AND receiver = ?1 AND dead = 1)
      RETURNING id`;
    const isFound = this.#sql.exec(query, receiver, id, nowMs).toArray().length > 0;
    if (isFound) this.#start(receiver, nowMs);
    return isFound;
  }

  /** A receiver that fails keeps its time. */
  #start(receiver: string, nowMs: number): void {
    this.#sql.exec("UPDATE receivers SET next_ms = IFNULL(next_ms, ?) WHERE name = ?", nowMs, receiver);
  }

  /** The oldest dead letters go, with what belongs to them. Call it once all that follow dead ones have been added. */
  prune(receiver: string): void {
    const surplus = this.dead(receiver) - LIMIT.deadLetters;
    if (surplus <= 0) return;
    const gone = this.#sql
      .exec<{ id: number }>(
        `DELETE FROM letters WHERE receiver = ?1 AND dead = 1 AND IFNULL(follows, id) IN (SELECT first FROM
           (SELECT IFNULL(follows, id) AS first, SUM(COUNT(*)) OVER (ORDER BY MIN(id)) - COUNT(*) AS older
            FROM letters WHERE receiver = ?1 AND dead = 1 GROUP BY first) WHERE older < ?2) RETURNING id`,
        receiver,
        surplus,
      )
      .toArray();
    this.#sql.exec("UPDATE receivers SET dropped = dropped + ? WHERE name = ?", gone.length, receiver);
    const ids = JSON.stringify(gone.map(({ id }) => id));
    this.#sql.exec(
      `UPDATE alerts SET letter = ${LOST_LETTER} WHERE letter IN (SELECT value FROM json_each(?))`,
      ids,
    );
  }
}
