// Stores the rollout: its settings, and the machines that got the version. shared/fleet/rollout.ts decides its steps.
import {
  reasonToStop,
  reasonWithoutNames,
  ROLLOUT_STATUSES,
  type RolloutCounts,
  type RolloutStatus,
  statusAfter,
  upgradeAnswer,
} from "../../shared/fleet/rollout.ts";
import { isBehind, versionKey } from "../../shared/fleet/sort-keys.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import type { UpgradeAnswer } from "../../shared/protocol/answers.ts";
import { ROLLOUT_LIMITS } from "../../shared/protocol/limits.ts";
import type { ShimVersion, ShownRollout, VersionsAnswer } from "../../shared/protocol/fleet-answers.ts";
import type { NewRollout } from "../../shared/protocol/administration-api.ts";
import type { Log } from "../log.ts";
import { cell, column } from "../storage/query.ts";
import type { FleetChange } from "./machine-rows.ts";
import { ANY_NAME, type Where } from "./machine-search.ts";

export const ROLLOUTS_MIGRATION = `
  CREATE TABLE rollout (
    only INTEGER PRIMARY KEY CHECK (only = 1), settings TEXT NOT NULL, who TEXT NOT NULL, since_ms INTEGER NOT NULL,
    stopped_ms INTEGER, why TEXT NOT NULL
  );
  CREATE TABLE rollout_machines (
    name TEXT PRIMARY KEY, given_ms INTEGER NOT NULL, standing TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX rollout_machines_by_standing ON rollout_machines (standing, given_ms);`;

/** The longest time in which a machine counts as upgrading. After that time its package manager may have failed. */
const UNDERWAY_MS = 1000 * ROLLOUT_LIMITS.underwaySeconds;

type RolloutRow = { settings: string; who: string; since_ms: number; stopped_ms: number | null; why: string };

interface RolloutSurroundings {
  sql: SqlStorage;
  /** Runs `work` in one transaction; typically the storage's transactionSync. */
  transaction: <T>(work: () => T) => T;
  /** Returns a machine's summary; null if the index does not know the machine. */
  summary: (name: string) => MachineSummary | null;
  /** Records an operator's action in the audit log, before the action is executed. */
  audit: (record: {
    who: string;
    what: "rollout.set" | "rollout.stop" | "rollout.end";
    target: string;
    detail: string;
  }) => Promise<void>;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** Writes a line to the log; typically a line of JSON on the console. */
  log: Log;
}

export class Rollouts {
  readonly #in: RolloutSurroundings;

  constructor(surroundings: RolloutSurroundings) {
    this.#in = surroundings;
  }

  /** Returns the rollout as operators see it; null without a rollout. `within`: the names that the answer may have. */
  show(within: Where = ANY_NAME): ShownRollout | null {
    const row = this.#row();
    if (!row) return null;
    const { who, since_ms: sinceMs, stopped_ms: atMs, why } = row;
    return {
      ...settingsOf(row),
      who,
      sinceMs,
      stopped: atMs === null ? null : { atMs, why: within === ANY_NAME ? why : reasonWithoutNames(why) },
      machines: this.#counts(within),
      silent: this.#silent(within),
    };
  }

  /** Starts or continues a rollout. Machines that are silent already do not stop the rollout again. */
  async put(wish: NewRollout, who: string): Promise<ShownRollout | null> {
    const { version, percent, selector, mostSilentPercent, atOnce } = wish;
    const detail = `${percent}%${selector && ` of ${selector}`}, at most ${mostSilentPercent}% silent, ${atOnce} at once`;
    await this.#in.audit({ who, what: "rollout.set", target: version, detail });
    this.#in.transaction(() => {
      const { sql, nowMs } = this.#in;
      const before = this.#row();
      if (before && settingsOf(before).version !== version) sql.exec("DELETE FROM rollout_machines");
      sql.exec("UPDATE rollout_machines SET standing = 'accepted' WHERE standing = 'silent'");
      const put = "INSERT OR REPLACE INTO rollout VALUES (1, ?, ?, ?, NULL, '')";
      sql.exec(put, JSON.stringify(wish), who, nowMs());
    });
    return this.show();
  }

  /** Stops the rollout: no further machine gets the version until `put` is called. Returns null without a rollout. */
  async stop(who: string): Promise<ShownRollout | null> {
    const row = this.#row();
    if (!row) return null;
    await this.#in.audit({ who, what: "rollout.stop", target: settingsOf(row).version, detail: "" });
    this.#stop(`${who} stopped it`);
    return this.show();
  }

  /** Deletes the rollout; machines keep their version. Returns false without a rollout. */
  async end(who: string): Promise<boolean> {
    const row = this.#row();
    if (!row) return false;
    await this.#in.audit({ who, what: "rollout.end", target: settingsOf(row).version, detail: "" });
    this.#in.transaction(() => {
      this.#in.sql.exec("DELETE FROM rollout");
      this.#in.sql.exec("DELETE FROM rollout_machines");
    });
    return true;
  }

  /** Answers a machine that asks whether to upgrade from `version`. A repeated request gets the same answer. */
  ask(name: string, version: string): UpgradeAnswer {
    const { sql, nowMs, summary } = this.#in;
    const row = this.#row();
    const isGiven = () => this.#status(name) !== undefined;
    const answer = upgradeAnswer({
      rollout: row ? settingsOf(row) : null,
      isStopped: row?.stopped_ms != null,
      name,
      version,
      summary: () => summary(name),
      isGiven,
      underway: () => this.#underway(),
    });
    if (answer.version !== null && !isGiven())
      sql.exec("INSERT INTO rollout_machines VALUES (?, ?, 'underway')", name, nowMs());
    return answer;
  }

  /** Updates a machine's status in the rollout. Call note in the transaction of the change. */
  note({ name, after }: FleetChange): void {
    const before = this.#status(name);
    if (before === undefined) return;
    const { sql } = this.#in;
    // Without a rollout, no machine has a status.
    const rollout = settingsOf(this.#row()!);
    const status = statusAfter(rollout.version, before, after);
    if (status === before) return;
    if (status === null) sql.exec("DELETE FROM rollout_machines WHERE name = ?", name);
    else sql.exec("UPDATE rollout_machines SET standing = ? WHERE name = ?", status, name);
    if (status !== "silent") return;
    const why = reasonToStop(rollout, this.#counts(), this.#silent());
    if (why !== null) this.#stop(why);
  }

  #stop(why: string): void {
    const { sql, nowMs, log } = this.#in;
    const stop = "UPDATE rollout SET stopped_ms = ?, why = ? WHERE stopped_ms IS NULL RETURNING why";
    if (sql.exec(stop, nowMs(), why).toArray().length > 0)
      log({ message: "the rollout has stopped", reason: why });
  }

  #row(): RolloutRow | undefined {
    return this.#in.sql.exec<RolloutRow>("SELECT * FROM rollout").toArray()[0];
  }

  #status(name: string): RolloutStatus | undefined {
    const query = "SELECT standing FROM rollout_machines WHERE name = ?";
    return this.#in.sql.exec<{ standing: RolloutStatus }>(query, name).toArray()[0]?.standing;
  }

  #underway(): number {
    const { sql, nowMs } = this.#in;
    const query =
      "SELECT COUNT(*) FROM rollout_machines WHERE standing = 'underway' AND given_ms BETWEEN ? AND ?";
    // The upper bound excludes future times: after the clock was set back, a machine would count as upgrading for ever.
    return cell(sql, query, nowMs() - UNDERWAY_MS, nowMs() + UNDERWAY_MS);
  }

  #counts({ sql, bindings } = ANY_NAME): RolloutCounts {
    const query = `SELECT standing, COUNT(*) AS count FROM rollout_machines WHERE ${sql} GROUP BY standing`;
    const found = new Map(this.#in.sql.exec(query, ...bindings).raw<[RolloutStatus, number]>());
    const counts = ROLLOUT_STATUSES.map((status) => [status, found.get(status) ?? 0] as const);
    return Object.fromEntries(counts) as RolloutCounts;
  }

  /** Returns the names of the silent machines: first the machine that was given the version last. */
  #silent({ sql, bindings } = ANY_NAME): string[] {
    const query = `SELECT name FROM rollout_machines WHERE standing = 'silent' AND ${sql}
      ORDER BY given_ms DESC, name LIMIT ?`;
    return column(this.#in.sql, query, ...bindings, ROLLOUT_LIMITS.namesShown);
  }
}

const settingsOf = ({ settings }: RolloutRow) => JSON.parse(settings) as NewRollout;

/** The most versions that are listed. Limited, since a machine may report any text as its version. */
export const MOST_VERSIONS = 50;

type Row = { version: string; state: string; machines: number };

/** Counts the machines by shim version. `within`: the names of the machines to count. */
export function shimVersions(sql: SqlStorage, worker: string, within = ANY_NAME): VersionsAnswer {
  const found = new Map<string, ShimVersion>();
  const own = `FROM machines WHERE ${within.sql}`;
  const commonest = `SELECT shim_version ${own} GROUP BY shim_version ORDER BY COUNT(*) DESC, shim_version LIMIT ?`;
  const query = `SELECT shim_version AS version, state, COUNT(*) AS machines ${own}
    AND shim_version IN (${commonest}) GROUP BY shim_version, state ORDER BY state`;
  const bindings = [...within.bindings, ...within.bindings, MOST_VERSIONS];
  for (const { version, state, machines } of sql.exec<Row>(query, ...bindings)) {
    const fresh = { version, machines: 0, isBehind: isBehind(version, worker), states: {} };
    const known = found.get(version) ?? fresh;
    const states = { ...known.states, [state]: machines };
    found.set(version, { ...known, machines: known.machines + machines, states });
  }
  const shims = [...found.values()].sort((a, b) => (versionKey(a.version) < versionKey(b.version) ? 1 : -1));
  const all = cell<number>(sql, `SELECT COUNT(*) ${own}`, ...within.bindings);
  return { worker, shims, others: all - shims.reduce((sum, { machines }) => sum + machines, 0) };
}
