// Computes the fleet index's samples for GET /metrics, from columns and from counters that each change updates.
import { FLEET_STATES } from "../../shared/fleet/state.ts";
import { isInMaintenance, MAINTENANCE_IN_PROGRESS } from "../../shared/kubernetes/lifecycle-conditions.ts";
import type { Measured } from "../metrics/metrics.ts";
import { column } from "../storage/query.ts";
import { type FleetChange, type MachineRows, pairsText } from "./machine-rows.ts";
import type { Notifications } from "./notifications.ts";
import type { Outages } from "./outages.ts";
import type { Rollouts } from "./rollouts.ts";
import type { Held } from "./shares.ts";

/** The most condition-status pairs with a counter of their own: drop-ins can name any number of conditions. */
export const MOST_COUNTED = 300;
/** The time without a transition after which a pair of condition and status may lose its counter to a new pair. */
export const COUNTED_FOR_MS = 24 * 3600_000;
/** The pair that counts the transitions of all pairs without a counter of their own. */
const OTHERS = { type: "other", status: "" };
/** The state in these metrics of a machine in maintenance, so that no alert about another state fires. */
const MAINTENANCE = "maintenance";
/** The conditions that every Node has. Their counters start at 0, as a rate needs a first value, and always stay. */
const OF_EVERY_NODE = JSON.stringify(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]);

export const METRICS_MIGRATION = `
  CREATE TABLE skews (name TEXT PRIMARY KEY, skew_ms INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE condition_transitions (
    condition TEXT NOT NULL, status TEXT NOT NULL, count INTEGER NOT NULL, since_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL, PRIMARY KEY (condition, status)
  ) WITHOUT ROWID;
  INSERT INTO condition_transitions SELECT types.value, statuses.value, 0, unixepoch() * 1000, 0
    FROM json_each('${OF_EVERY_NODE}') AS types, json_each('["True","False","Unknown"]') AS statuses;`;

interface IndexParts {
  rows: Pick<MachineRows, "seq" | "counts" | "ruleMatches">;
  outages: Pick<Outages, "silent">;
  notifications: Pick<Notifications, "list">;
  rollouts: Pick<Rollouts, "show">;
  heldBack: () => Held[];
}

export class FleetMetrics {
  readonly #sql: SqlStorage;
  readonly #in: IndexParts;

  constructor(sql: SqlStorage, parts: IndexParts) {
    this.#sql = sql;
    this.#in = parts;
  }

  /**
   * Counts a change's condition transitions, except during maintenance, and stores the clock skew. Call noteChange in
   * the change's transaction.
   */
  noteChange({ name, before, after }: FleetChange, nowMs: number): void {
    const statusBefore = new Map(before?.conditions.map(({ type, status }) => [type, status]));
    const counted = after && !isInMaintenance(after.conditions) ? after.conditions : [];
    for (const { type, status } of counted)
      if ((statusBefore.get(type) ?? status) !== status) this.#count({ type, status }, nowMs);
    const skewMs = after?.skewMs ?? 0;
    if (skewMs === (before?.skewMs ?? 0)) return;
    if (skewMs === 0) this.#sql.exec("DELETE FROM skews WHERE name = ?", name);
    else this.#sql.exec("INSERT OR REPLACE INTO skews VALUES (?, ?)", name, skewMs);
  }

  /** Returns the samples. `isEach`: true for two more lines for each machine. */
  measure(isEach: boolean): Measured {
    const counts = this.#in.rows.counts();
    const receivers = this.#in.notifications.list();
    // The registry, not the fleet index, reports the number of machines that wait for approval.
    const states = FLEET_STATES.filter((state) => state !== "pending");
    const sets = this.#setsInMaintenance();
    const away = this.#countIn(sets);
    return {
      rollcall_machines: [
        ...states.map((state) => ({
          labels: { state },
          value: (counts[state] ?? 0) - (away.get(state) ?? 0),
        })),
        { labels: { state: MAINTENANCE }, value: [...away.values()].reduce((sum, count) => sum + count, 0) },
      ],
      ...(isEach && this.#eachMachine(sets)),
      rollcall_outage_machines: this.#in.outages.silent().map(({ network, silent }) => {
        return { labels: { network }, value: silent };
      }),
      rollcall_clock_skew_seconds: this.#sql
        .exec<{ name: string; skew_ms: number }>("SELECT * FROM skews")
        .toArray()
        .map(({ name, skew_ms: skewMs }) => ({ labels: { machine: name }, value: skewMs / 1000 })),
      rollcall_condition_transitions_total: this.#sql
        .exec<Transitions>("SELECT * FROM condition_transitions")
        .toArray()
        .map(({ condition, status, count, since_ms: sinceMs }) => {
          return { labels: { condition, status }, value: count, sinceMs };
        }),
      rollcall_rule_matches: this.#in.rows.ruleMatches().map(({ rule, machines }) => {
        return { labels: { rule }, value: machines };
      }),
      rollcall_notifications: receivers.flatMap(({ name: receiver, waiting, dead }) => [
        { labels: { receiver, state: "waiting" }, value: waiting },
        { labels: { receiver, state: "dead" }, value: dead },
      ]),
      rollcall_receiver_failing: receivers.map(({ name: receiver, failingSince }) => {
        return { labels: { receiver }, value: failingSince === null ? 0 : 1 };
      }),
      ...this.#rollout(),
      rollcall_limit_reached: this.#in.heldBack().map(({ what, who }) => {
        return { labels: { limit: what, subject: who }, value: 1 };
      }),
      rollcall_index_changes_total: [{ labels: {}, value: this.#in.rows.seq() }],
    };
  }

  /** Returns the samples of the rollout; no sample without a rollout. */
  #rollout(): Measured {
    const shown = this.#in.rollouts.show();
    if (!shown) return {};
    const { version, stopped, machines } = shown;
    return {
      rollcall_rollout_stopped: [{ labels: { version }, value: stopped ? 1 : 0 }],
      rollcall_rollout_machines: Object.entries(machines).map(([standing, value]) => {
        return { labels: { version, standing }, value };
      }),
    };
  }

  #count(changed: typeof OTHERS, nowMs: number): void {
    const { type, status } = this.#hasRoom(changed, nowMs) ? changed : OTHERS;
    this.#sql.exec(
      `INSERT INTO condition_transitions VALUES (?1, ?2, 1, ?3, ?3)
       ON CONFLICT DO UPDATE SET count = count + 1, last_ms = excluded.last_ms`,
      type,
      status,
      nowMs,
    );
  }

  /** Reports whether the pair has a counter, or a counter is free or can be freed. */
  #hasRoom({ type, status }: typeof OTHERS, nowMs: number): boolean {
    const query =
      "SELECT COUNT(*) AS count, TOTAL(condition = ? AND status = ?) AS own FROM condition_transitions";
    const { count, own } = this.#sql.exec<{ count: number; own: number }>(query, type, status).one();
    if (own > 0 || count < MOST_COUNTED) return true;
    const oldest = `SELECT condition, status FROM condition_transitions WHERE last_ms < ? AND status <> ?
      AND condition NOT IN (SELECT value FROM json_each(?)) ORDER BY last_ms LIMIT 1`;
    const gone = `DELETE FROM condition_transitions WHERE (condition, status) IN (${oldest}) RETURNING condition`;
    const untilMs = nowMs - COUNTED_FOR_MS;
    return this.#sql.exec(gone, untilMs, OTHERS.status, OF_EVERY_NODE).toArray().length > 0;
  }

  /** Returns the numbers of the sets of conditions that a machine in maintenance has. */
  #setsInMaintenance(): number[] {
    const pair = pairsText([[MAINTENANCE_IN_PROGRESS, "True"]]);
    return column(this.#sql, "SELECT id FROM sets WHERE instr(text, ?) > 0", pair);
  }

  /** Returns the number of machines with one of these sets of conditions, by state. */
  #countIn(sets: readonly number[]): Map<string, number> {
    if (sets.length === 0) return new Map();
    const query = `SELECT state, COUNT(*) FROM machines
      WHERE condition_set IN (SELECT value FROM json_each(?)) GROUP BY state`;
    return new Map(this.#sql.exec(query, JSON.stringify(sets)).raw<[string, number]>());
  }

  /** Writes the lines of each machine as text. No escaping is needed in a Node's name or a state. */
  #eachMachine(sets: readonly number[]): Measured {
    const states: string[] = [];
    const times: string[] = [];
    const query = "SELECT name, state, since_ms, condition_set FROM machines";
    const rows = this.#sql.exec(query).raw<[string, string, number, number]>();
    for (const [name, known, sinceMs, set] of rows) {
      const state = sets.includes(set) ? MAINTENANCE : known;
      states.push(`rollcall_machine_state{machine="${name}",state="${state}"} 1\n`);
      if (state === MAINTENANCE) continue;
      const seconds = Math.floor(sinceMs / 1000);
      times.push(`rollcall_machine_state_since_timestamp_seconds{machine="${name}"} ${seconds}\n`);
    }
    return {
      rollcall_machine_state: states.join(""),
      rollcall_machine_state_since_timestamp_seconds: times.join(""),
    };
  }
}

type Transitions = { condition: string; status: string; count: number; since_ms: number };
