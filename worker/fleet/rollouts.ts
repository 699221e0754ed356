// The rows of the rollout: what operators asked for, which machines were given the version, and what became of each. Told
// with each change of the index, in its transaction. Who is given it, and when that stops, is decided in shared/fleet.
import {
  reasonToStop,
  ROLLOUT_STANDINGS,
  type RolloutCounts,
  type RolloutStanding,
  standingOf,
  upgradeAnswer,
} from "../../shared/fleet/rollout.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import type { UpgradeAnswer } from "../../shared/protocol/answers.ts";
import { ROLLOUT_LIMITS } from "../../shared/protocol/limits.ts";
import type { ShownRollout } from "../../shared/protocol/rollout-answers.ts";
import type { NewRollout } from "../../shared/protocol/rollout-api.ts";
import type { FleetChange } from "./machine-rows.ts";
import type { Log } from "../log.ts";

export const ROLLOUTS_MIGRATION = `
  CREATE TABLE rollout (
    only INTEGER PRIMARY KEY CHECK (only = 1), settings TEXT NOT NULL, who TEXT NOT NULL, since_ms INTEGER NOT NULL,
    stopped_ms INTEGER, why TEXT NOT NULL
  );
  CREATE TABLE rollout_machines (
    name TEXT PRIMARY KEY, given_ms INTEGER NOT NULL, standing TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX rollout_machines_by_standing ON rollout_machines (standing, given_ms);`;

/** After so long a machine that was given the version is not waited for any more: its package manager may have failed. */
const UNDERWAY_MS = 1000 * ROLLOUT_LIMITS.underwaySeconds;

type RolloutRow = { settings: string; who: string; since_ms: number; stopped_ms: number | null; why: string };

export interface RolloutSurroundings {
  sql: SqlStorage;
  /** Typically the storage's transactionSync. */
  transaction: <T>(work: () => T) => T;
  /** As the index knows the machine; null: it does not. */
  summary: (name: string) => MachineSummary | null;
  /** Puts what an operator does into the audit log; before it is done. */
  audit: (record: {
    who: string;
    what: "rollout.set" | "rollout.stop" | "rollout.end";
    target: string;
    detail: string;
  }) => Promise<void>;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically writes a line of JSON to the console. */
  log: Log;
}

export class Rollouts {
  readonly #in: RolloutSurroundings;

  constructor(surroundings: RolloutSurroundings) {
    this.#in = surroundings;
  }

  /** null: there is none. */
  show(): ShownRollout | null {
    const row = this.#row();
    if (!row) return null;
    const { who, since_ms: sinceMs, stopped_ms: atMs, why } = row;
    return {
      ...settingsOf(row),
      who,
      sinceMs,
      stopped: atMs === null ? null : { atMs, why },
      machines: this.#counts(),
      silent: this.#silent(),
    };
  }

  /** Begins a rollout, or goes on with one: machines that are silent by now do not stop it again. */
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

  /** Gives the version to no other machine until it is put again; null: there is no rollout. */
  async stop(who: string): Promise<ShownRollout | null> {
    const row = this.#row();
    if (!row) return null;
    await this.#in.audit({ who, what: "rollout.stop", target: settingsOf(row).version, detail: "" });
    this.#stop(`${who} stopped it`);
    return this.show();
  }

  /** Forgets it; false: there was none. What machines have they keep. */
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

  /** For a machine that asks whether to upgrade from `version`. Safe to repeat: it is given the same again, without a row. */
  ask(name: string, version: string): UpgradeAnswer {
    const { sql, nowMs, summary } = this.#in;
    const row = this.#row();
    const isGiven = () => this.#standing(name) !== undefined;
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

  /** Call it in the transaction of the change. */
  note({ name, after }: FleetChange): void {
    const before = this.#standing(name);
    if (before === undefined) return;
    const row = this.#row();
    if (!row) return;
    const { sql } = this.#in;
    const rollout = settingsOf(row);
    const standing = standingOf(rollout.version, before, after);
    if (standing === before) return;
    if (standing === null) sql.exec("DELETE FROM rollout_machines WHERE name = ?", name);
    else sql.exec("UPDATE rollout_machines SET standing = ? WHERE name = ?", standing, name);
    if (standing !== "silent" || row.stopped_ms !== null) return;
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

  #standing(name: string): RolloutStanding | undefined {
    const query = "SELECT standing FROM rollout_machines WHERE name = ?";
    return this.#in.sql.exec<{ standing: RolloutStanding }>(query, name).toArray()[0]?.standing;
  }

  #underway(): number {
    const { sql, nowMs } = this.#in;
    const query =
      "SELECT COUNT(*) AS count FROM rollout_machines WHERE standing = 'underway' AND given_ms BETWEEN ? AND ?";
    // A clock that was put back leaves nobody under way for ever.
    return sql.exec<{ count: number }>(query, nowMs() - UNDERWAY_MS, nowMs() + UNDERWAY_MS).one().count;
  }

  #counts(): RolloutCounts {
    const query = "SELECT standing, COUNT(*) AS count FROM rollout_machines GROUP BY standing";
    const rows = this.#in.sql.exec<{ standing: RolloutStanding; count: number }>(query);
    const found = new Map(rows.toArray().map(({ standing, count }) => [standing, count]));
    const counts = ROLLOUT_STANDINGS.map((standing) => [standing, found.get(standing) ?? 0] as const);
    return Object.fromEntries(counts) as RolloutCounts;
  }

  /** Those that were given it last. */
  #silent(): string[] {
    const query =
      "SELECT name FROM rollout_machines WHERE standing = 'silent' ORDER BY given_ms DESC, name LIMIT ?";
    const rows = this.#in.sql.exec<{ name: string }>(query, ROLLOUT_LIMITS.namesShown);
    return rows.toArray().map(({ name }) => name);
  }
}

const settingsOf = ({ settings }: RolloutRow) => JSON.parse(settings) as NewRollout;
