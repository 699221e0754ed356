// Notifies a new receiver of the states that began before the receiver was added. Each turn adds one page of machines
// to the rows of alerts.ts, which then sends their alerts together.
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { ALERT_STATES } from "../../shared/protocol/receiver-api.ts";
import { cell, column } from "../storage/query.ts";
import { concernOf } from "./alert-rules.ts";
import type { Receivers } from "./receivers.ts";

/** Creates the table of new receivers. `machine`: the last machine that was handled. */
export const CATCH_UPS_MIGRATION = `
  CREATE TABLE catch_ups (
    receiver TEXT PRIMARY KEY, machine TEXT NOT NULL, began_ms INTEGER NOT NULL
  ) WITHOUT ROWID;`;

/** The most machines of a turn, which runs in one transaction. */
export const CAUGHT_UP_AT_ONCE = 2000;
/** The wait before the first message, so that the message has the machines of several turns. */
const COLLECTING_MS = 5000;

interface CatchUpSurroundings {
  sql: SqlStorage;
  receivers: Receivers;
  /** Returns a machine's summary; null if the index does not know the machine. */
  summary: (name: string) => MachineSummary | null;
}

type CatchUpRow = { receiver: string; machine: string; began_ms: number };

export class CatchUps {
  readonly #in: CatchUpSurroundings;

  constructor(surroundings: CatchUpSurroundings) {
    this.#in = surroundings;
  }

  begin(receiver: string, nowMs: number): void {
    this.#in.sql.exec("INSERT OR REPLACE INTO catch_ups VALUES (?, '', ?)", receiver, nowMs);
  }

  dueMs(): number | null {
    return cell(this.#in.sql, "SELECT MIN(began_ms) FROM catch_ups");
  }

  /** Handles the next machines of each new receiver. Call turn in a transaction. */
  turn(nowMs: number): void {
    for (const row of this.#in.sql.exec<CatchUpRow>("SELECT * FROM catch_ups").toArray())
      this.#page(row, nowMs);
  }

  #page({ receiver: name, machine: after, began_ms: beganMs }: CatchUpRow, nowMs: number): void {
    const { sql, receivers, summary } = this.#in;
    const receiver = receivers.find(name);
    const query = `SELECT name FROM machines WHERE name > ? AND state IN (SELECT value FROM json_each(?))
      ORDER BY name LIMIT ?`;
    const states = JSON.stringify(receiver ? ALERT_STATES : []);
    const machines = column<string>(sql, query, after, states, CAUGHT_UP_AT_ONCE);
    const insert = "INSERT OR IGNORE INTO watched VALUES (?, ?, ?, ?, NULL, NULL, ?, 0)";
    for (const machine of machines) {
      const known = summary(machine);
      const state = receiver && known && concernOf(receiver, machine, known);
      if (!state) continue;
      const dueMs = known.sinceMs + receiver.settings.delaySeconds * 1000;
      sql.exec(insert, name, machine, state, known.sinceMs, Math.max(dueMs, beganMs + COLLECTING_MS, nowMs));
    }
    if (machines.length < CAUGHT_UP_AT_ONCE) sql.exec("DELETE FROM catch_ups WHERE receiver = ?", name);
    else sql.exec("UPDATE catch_ups SET machine = ? WHERE receiver = ?", machines.at(-1)!, name);
  }
}
