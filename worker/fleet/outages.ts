// Stores outages: machines of one network that fell silent together. A machine that is silent alone has a hidden row.
import {
  endOfSilence,
  OUTAGE_ENDS,
  OUTAGE_MACHINES,
  OUTAGE_SPAN_MS,
  type OutageCounts,
  type OutageEnd,
  type Silence,
  silenceOf,
  whatOutageWas,
} from "../../shared/fleet/outages.ts";
import type { Outage, OutageAnswer, OutagesAnswer } from "../../shared/protocol/outages.ts";
import type { OutageQuery, OutagesQuery } from "../../shared/protocol/fleet-api.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { cell, column } from "../storage/query.ts";
import type { FleetChange } from "./machine-rows.ts";
import { ANY_NAME, type Where } from "./machine-search.ts";
import type { KnownOutage } from "./alert-rules.ts";

export type OutagesRequest = Omit<OutagesQuery, "format" | "limit"> & { limit: number };

export const OUTAGE_LIMITS = {
  /** The most stored outages, including single machines' silences. Above it, the oldest ended outages are deleted. */
  kept: 10_000,
  /** The most stored ended outages of one network, so that one network does not displace the others. */
  keptOfNetwork: 1000,
  prunedAtOnce: 20,
  /** The age at which a single machine's ended silence is deleted, when the next silence of its network begins. */
  aloneMs: 3600_000,
  /** The most machines' names in a shown outage. */
  names: 10,
} as const;

export const OUTAGES_MIGRATION = `
  CREATE TABLE outages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, network TEXT NOT NULL, started_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
    ended_ms INTEGER, machines INTEGER NOT NULL, silent INTEGER NOT NULL, ends TEXT NOT NULL, seq INTEGER NOT NULL
  );
  CREATE INDEX outages_by_network ON outages (network, last_ms);
  CREATE INDEX outages_by_seq ON outages (seq);
  CREATE TABLE outage_machines (
    outage INTEGER NOT NULL, name TEXT NOT NULL, since_ms INTEGER NOT NULL, back_ms INTEGER, how TEXT,
    PRIMARY KEY (outage, name)
  ) WITHOUT ROWID;`;

type OutageRow = {
  id: number;
  network: string;
  started_ms: number;
  last_ms: number;
  ended_ms: number | null;
  machines: number;
  silent: number;
  ends: string;
  seq: number;
};
type MachineRow = { name: string; since_ms: number; back_ms: number | null; how: OutageEnd | null };

const isoOrNull = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
const PRUNED_EVERY = 10;
/** The longest time from the first to the last silence of an outage that a machine that was silent alone has joined. */
const LONGEST_MS = 2 * OUTAGE_SPAN_MS;

export class Outages {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Begins, continues or ends the outage of a changed machine. Call note in the transaction of the change. */
  note({ name, seq, before, after, entries }: FleetChange): void {
    const [was, is] = [silenceOf(before), silenceOf(after)];
    if (was?.network === is?.network && was?.sinceMs === is?.sinceMs) return;
    const backMs = is?.sinceMs ?? after?.sinceMs ?? entries.at(-1)!.atMs;
    if (was && before) this.#end(name, was, endOfSilence(before, after), backMs, seq);
    if (is) this.#begin(name, is, seq);
  }

  /** Returns a page of outages. `within`: the names of the machines that the outages may have. */
  list({ since, until, before, limit }: OutagesRequest, within = ANY_NAME): OutagesAnswer {
    const [kind, id] = before?.split(".") ?? ["open", String(Number.MAX_SAFE_INTEGER)];
    const from = outagesOf(within);
    const query = `SELECT * FROM ${from.sql} WHERE machines >= ${OUTAGE_MACHINES} AND IFNULL(ended_ms, 1e16) > ? AND started_ms < ?
      AND (ended_ms IS NOT NULL, -id) > (?, -?)
      ORDER BY ended_ms IS NOT NULL, id DESC LIMIT ?`;
    const [sinceMs, untilMs] = [since ? Date.parse(since) : 0, until ? Date.parse(until) : 1e16];
    const rows = this.#sql
      .exec<OutageRow>(
        query,
        ...from.bindings,
        sinceMs,
        untilMs,
        Number(kind !== "open"),
        Number(id),
        limit + 1,
      )
      .toArray();
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const next =
      last && rows.length > limit ? `${last.ended_ms === null ? "open" : "ended"}.${last.id}` : null;
    return { outages: page.map((row) => this.#shown(row, within)), next };
  }

  /** Returns the number of silent machines in active outages, for each network. */
  silent(): { network: string; silent: number }[] {
    const query = `SELECT network, SUM(silent) AS silent FROM outages
      WHERE ended_ms IS NULL AND machines >= ${OUTAGE_MACHINES} GROUP BY network`;
    return this.#sql.exec<{ network: string; silent: number }>(query).toArray();
  }

  /** Returns an outage with a page of its machines; null if no outage has this ID. */
  get(id: number, { after, limit }: OutageQuery, within = ANY_NAME): OutageAnswer | null {
    const from = outagesOf(within, { sql: "id = ?", bindings: [id] });
    const [row] = this.#sql.exec<OutageRow>(`SELECT * FROM ${from.sql} WHERE id = ?`, ...from.bindings, id);
    if (!row || row.machines < OUTAGE_MACHINES) return null;
    const { sql, bindings } = within;
    const query = `SELECT * FROM outage_machines WHERE outage = ? AND name > ? AND ${sql} ORDER BY name LIMIT ?`;
    const machines = this.#sql.exec<MachineRow>(query, id, after, ...bindings, limit + 1).toArray();
    const list = machines.slice(0, limit).map(({ name, since_ms, back_ms, how }) => ({
      name,
      silentSince: new Date(since_ms).toISOString(),
      backAt: isoOrNull(back_ms),
      end: how,
    }));
    return { ...this.#shown(row, within), list, next: machines.length > limit ? list.at(-1)!.name : null };
  }

  /**
   * Returns the outages that changed after the change `seq`, in the order of their last change. If `within` does not
   * have all names, returns the outages where a machine within has changed since.
   */
  changedAfter(seq: number, limit: number, within = ANY_NAME): { seq: number; outage: Outage }[] {
    const changed = `outages.seq > ? AND id IN (SELECT outage FROM outage_machines JOIN machines USING (name)
      WHERE machines.seq > ? AND ${within.sql})`;
    const from = outagesOf(within, { sql: changed, bindings: [seq, seq, ...within.bindings] });
    const query = `SELECT * FROM ${from.sql} WHERE seq > ? AND machines >= ${OUTAGE_MACHINES} ORDER BY seq LIMIT ?`;
    const rows = this.#sql.exec<OutageRow>(query, ...from.bindings, seq, limit).toArray();
    return rows.map((row) => ({ seq: row.seq, outage: this.#shown(row, within) }));
  }

  /** Returns the outage of a silent machine; null if the machine is silent alone. */
  of(name: string, summary: MachineSummary): KnownOutage | null {
    const silence = silenceOf(summary);
    if (!silence) return null;
    const row = this.#lasting(name, silence);
    if (!row || row.silent < OUTAGE_MACHINES) return null;
    return { id: String(row.id), address: row.network, sinceMs: row.started_ms };
  }

  /** Reports whether the outage has ended or was deleted. */
  isOver(id: number): boolean {
    const [row] = this.#sql.exec<OutageRow>("SELECT * FROM outages WHERE id = ?", id);
    return row?.ended_ms !== null;
  }

  /** Returns the names of an outage's machines, including those that recovered. */
  machinesOf(id: number): string[] {
    return column(this.#sql, "SELECT name FROM outage_machines WHERE outage = ? ORDER BY name", id);
  }

  #begin(name: string, { network, sinceMs }: Silence, seq: number): void {
    // The BETWEEN repeats the condition before it in a form that the index serves, so that SQLite reads few rows.
    const query = `SELECT * FROM outages WHERE network = ?1 AND MAX(last_ms, ?2) - MIN(started_ms, ?2) <= ${OUTAGE_SPAN_MS}
      AND last_ms BETWEEN ?2 - ${OUTAGE_SPAN_MS} AND ?2 + ${OUTAGE_SPAN_MS} ORDER BY id DESC LIMIT 1`;
    const [found] = this.#sql.exec<OutageRow>(query, network, sinceMs);
    const outage = found ?? this.#new(network, sinceMs);
    this.#add(outage, name, sinceMs, seq);
    this.#mergeAlone(outage, seq);
  }

  #add(outage: OutageRow, name: string, sinceMs: number, seq: number): void {
    const query = "SELECT * FROM outage_machines WHERE outage = ? AND name = ?";
    const [known] = this.#sql.exec<MachineRow>(query, outage.id, name);
    const put = "INSERT OR REPLACE INTO outage_machines VALUES (?, ?, ?, NULL, NULL)";
    this.#sql.exec(put, outage.id, name, sinceMs);
    outage.machines += known ? 0 : 1;
    outage.silent += 1;
    outage.started_ms = Math.min(outage.started_ms, sinceMs);
    outage.last_ms = Math.max(outage.last_ms, sinceMs);
    // An ended outage begins again only if several of its machines are silent, not for a single silent machine.
    if (outage.machines < OUTAGE_MACHINES || outage.silent >= OUTAGE_MACHINES) outage.ended_ms = null;
    this.#put(outage, known?.how ?? null, -1, seq);
  }

  /**
   * Adds a machine that is silent alone to another outage, whose only silent machine fell silent within a minute of the
   * first. Otherwise a third machine that fell silent shortly before both, and returned, would divide their outage.
   */
  #mergeAlone(outage: OutageRow, seq: number): void {
    if (outage.silent !== 1) return;
    const query = `SELECT one.name AS ours, one.since_ms AS oursMs, other.name AS theirs, other.since_ms AS theirsMs, outages.*
      FROM outage_machines AS one JOIN outages ON network = ?2 AND id <> ?1 AND silent = 1
        AND last_ms BETWEEN one.since_ms - ${OUTAGE_SPAN_MS} AND one.since_ms + ${LONGEST_MS}
        AND MAX(last_ms, ?3) - MIN(started_ms, ?4) <= ${LONGEST_MS}
      JOIN outage_machines AS other ON other.outage = id AND other.how IS NULL
        AND ABS(other.since_ms - one.since_ms) <= ${OUTAGE_SPAN_MS}
      WHERE one.outage = ?1 AND one.how IS NULL AND MIN(machines, ?5) = 1 LIMIT 1`;
    const { id, network, started_ms, last_ms, machines } = outage;
    const [found] = this.#sql.exec<
      OutageRow & { ours: string; oursMs: number; theirs: string; theirsMs: number }
    >(query, id, network, last_ms, started_ms, machines);
    if (!found) return;
    const { ours, oursMs, theirs, theirsMs, ...other } = found;
    const isOursAlone = machines < OUTAGE_MACHINES;
    const [alone, group] = isOursAlone ? [outage, other] : [other, outage];
    this.#sql.exec("DELETE FROM outages WHERE id = ?", alone.id);
    this.#removeMachines([alone.id]);
    this.#add(group, isOursAlone ? ours : theirs, isOursAlone ? oursMs : theirsMs, seq);
  }

  #end(name: string, silence: Silence, how: OutageEnd, backMs: number, seq: number): void {
    const outage = this.#lasting(name, silence);
    if (!outage) return;
    const update = "UPDATE outage_machines SET back_ms = ?, how = ? WHERE outage = ? AND name = ?";
    this.#sql.exec(update, backMs, how, outage.id, name);
    outage.silent -= 1;
    const lastBackMs = this.#lastBackMs(outage.id);
    // A single silent machine does not keep an outage open. If the machine recovers soon, its recovery ends the outage.
    const least = outage.machines < OUTAGE_MACHINES ? 1 : OUTAGE_MACHINES;
    const isEnd = outage.ended_ms === null || lastBackMs - outage.ended_ms <= OUTAGE_SPAN_MS;
    if (outage.silent < least && isEnd) outage.ended_ms = lastBackMs;
    this.#put(outage, how, 1, seq);
    this.#mergeAlone(outage, seq);
  }

  /** Returns the outage in which the machine is silent now. */
  #lasting(name: string, { network, sinceMs }: Silence): OutageRow | undefined {
    const query = `SELECT outages.* FROM outages JOIN outage_machines ON outage = id
      WHERE network = ?1 AND last_ms BETWEEN ?3 AND ?3 + ${LONGEST_MS} AND name = ?2 AND how IS NULL AND since_ms = ?3`;
    return this.#sql.exec<OutageRow>(query, network, name, sinceMs).toArray()[0];
  }

  /** Returns the outage's latest recovery. Updates arrive in any order: the last update may have an earlier time. */
  #lastBackMs(id: number): number {
    return cell(this.#sql, "SELECT IFNULL(MAX(back_ms), 0) FROM outage_machines WHERE outage = ?", id);
  }

  #new(network: string, sinceMs: number): OutageRow {
    const alone = `DELETE FROM outages WHERE network = ? AND machines < ${OUTAGE_MACHINES} AND ended_ms < ? RETURNING id`;
    this.#removeMachines(column(this.#sql, alone, network, sinceMs - OUTAGE_LIMITS.aloneMs));
    const insert = "INSERT INTO outages VALUES (NULL, ?, ?, ?, NULL, 0, 0, '{}', 0) RETURNING *";
    const row = this.#sql.exec<OutageRow>(insert, network, sinceMs, sinceMs).one();
    this.#pruneNetwork(network);
    if (row.id % PRUNED_EVERY === 0) this.#prune(row.id - OUTAGE_LIMITS.kept);
    return row;
  }

  #pruneNetwork(network: string): void {
    const { prunedAtOnce, keptOfNetwork } = OUTAGE_LIMITS;
    const query = `DELETE FROM outages WHERE id IN (SELECT id FROM outages WHERE network = ? AND ended_ms IS NOT NULL
      ORDER BY last_ms DESC LIMIT ? OFFSET ?) RETURNING id`;
    this.#removeMachines(column(this.#sql, query, network, prunedAtOnce, keptOfNetwork));
  }

  #prune(id: number): void {
    const query = `DELETE FROM outages WHERE id IN
      (SELECT id FROM outages WHERE id <= ? AND ended_ms IS NOT NULL ORDER BY id LIMIT ?) RETURNING id`;
    this.#removeMachines(column(this.#sql, query, id, OUTAGE_LIMITS.prunedAtOnce));
  }

  #removeMachines(outages: readonly number[]): void {
    for (const id of outages) this.#sql.exec("DELETE FROM outage_machines WHERE outage = ?", id);
  }

  #put(outage: OutageRow, how: OutageEnd | null, more: number, seq: number): void {
    const ends = JSON.parse(outage.ends) as OutageCounts;
    if (how !== null) ends[how] = (ends[how] ?? 0) + more;
    outage.ends = JSON.stringify(ends);
    const { id, started_ms, last_ms, ended_ms, machines, silent } = outage;
    const update = `UPDATE outages SET started_ms = ?, last_ms = ?, ended_ms = ?, machines = ?, silent = ?, ends = ?, seq = ?
      WHERE id = ?`;
    const values = [started_ms, last_ms, ended_ms, machines, silent, outage.ends, seq, id];
    this.#sql.exec(update, ...values);
  }

  #shown(
    { id, network, started_ms, ended_ms, machines, silent, ends }: OutageRow,
    { sql, bindings }: Where,
  ): Outage {
    const query = `SELECT name FROM outage_machines WHERE outage = ? AND ${sql} ORDER BY name LIMIT ?`;
    return {
      id,
      network,
      startedAt: new Date(started_ms).toISOString(),
      endedAt: isoOrNull(ended_ms),
      machines,
      silent,
      names: column(this.#sql, query, id, ...bindings, OUTAGE_LIMITS.names),
      was: whatOutageWas(JSON.parse(ends) as OutageCounts),
    };
  }
}

const OWN_ENDS = OUTAGE_ENDS.map((end) => `'${end}', SUM(how IS '${end}')`).join();

/**
 * Returns a table as `outages`, from the machines within alone. Without the others, an outage may have begun
 * later, have ended, or be none. `which`: a condition on the outages, so that SQLite reads few of them.
 */
function outagesOf(within: Where, which: Where = ANY_NAME): Where {
  if (within === ANY_NAME) return { sql: "outages", bindings: [] };
  const sql = `(SELECT id, network, MIN(since_ms) AS started_ms, MAX(since_ms) AS last_ms, COUNT(*) AS machines,
      SUM(how IS NULL) AS silent, json_object(${OWN_ENDS}) AS ends, outages.seq AS seq,
      iif(SUM(how IS NULL) < ${OUTAGE_MACHINES}, MAX(back_ms), NULL) AS ended_ms
    FROM outages JOIN outage_machines ON outage = id WHERE ${which.sql} AND ${within.sql} GROUP BY id)`;
  return { sql, bindings: [...which.bindings, ...within.bindings] };
}
