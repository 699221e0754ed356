// The rows of the fleet index: what machines' objects told, each once and in order. Decides nothing about a machine.
import type { FleetCounts } from "../../shared/fleet/state.ts";
import type { MachineSummary, MachineTelling, ToldEntry, ToldUntil } from "../../shared/fleet/summary.ts";
import { SEARCH_COLUMNS, searchValues, SET_COLUMNS, setsOf } from "./search-columns.ts";

/** What became of one machine: what listens to the index (metrics, outages, the feed, notifications) is called with it. */
export interface FleetChange {
  name: string;
  /** Numbers all changes of the index in their order. */
  seq: number;
  /** null: it was not known. */
  before: MachineSummary | null;
  /** null: it has left, or was forgotten. */
  after: MachineSummary | null;
  /** The lines of its history that are new here, oldest first. */
  entries: ToldEntry[];
}

export const FLEET_HISTORY_LIMITS = {
  /** Lines of all machines; the oldest go. */
  lines: 100_000,
  prunedEvery: 10,
  prunedAtOnce: 20,
} as const;

const PUT_COLUMNS = ["generation", "version", "entry_id", "seq", ...SEARCH_COLUMNS];
const PUT = `INSERT INTO machines (${PUT_COLUMNS.join()}) VALUES (${PUT_COLUMNS.map(() => "?").join()})
  ON CONFLICT (name) DO UPDATE SET ${PUT_COLUMNS.map((column) => `${column} = excluded.${column}`).join()}`;

/** Sets that no machine has any more are deleted with every so many new ones. */
const SETS_PRUNED_EVERY = 100;
const PRUNE_SETS = `DELETE FROM sets WHERE id > 0 AND id NOT IN (${SET_COLUMNS.map((column) => `SELECT ${column} FROM machines`).join(" UNION ")})`;

type Known = { generation: number; version: number; entry_id: number; summary: string };

export class MachineRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Takes a telling over. `change` is null where it came before, is out of date, or says nothing new, as most do of a repair.
   * Call it in a transaction.
   */
  take(telling: MachineTelling): { until: ToldUntil; change: FleetChange | null } {
    const { name, generation, version, summary } = telling;
    const known = this.#known(name);
    const isOutdated = generation < this.#generationOf(name, known);
    // This index was lost, or restored: without what came before it would never be whole.
    if (!known && !isOutdated && telling.isSequel) return { until: { entryId: 0 }, change: null };
    const isSame = known?.generation === generation;
    const entryId = isSame ? known.entry_id : 0;
    if (isOutdated || (isSame && version <= known.version))
      return { until: { entryId: isOutdated ? (telling.entries.at(-1)?.id ?? 0) : entryId }, change: null };
    const entries = telling.entries.filter(({ id }) => id > entryId);
    const until = entries.at(-1)?.id ?? entryId;
    const text = JSON.stringify(summary);
    if (isSame && entries.length === 0 && known.summary === text) {
      // What was told before this one and comes late stays out of date.
      this.#sql.exec("UPDATE machines SET version = ? WHERE name = ?", version, name);
      return { until: { entryId }, change: null };
    }
    const before = known ? (JSON.parse(known.summary) as MachineSummary) : null;
    this.#addHistory(name, entries);
    const seq = this.nextSeq(before, summary);
    this.#put(telling, until, seq);
    if (known?.summary !== text) this.#putSummary(name, text);
    return { until: { entryId: until }, change: { name, seq, before, after: summary, entries } };
  }

  /** The machine of this generation is gone. null: it was not known, or there is a newer one. */
  remove(name: string, generation: number, atMs: number, text: string): FleetChange | null {
    const known = this.#known(name);
    if (!known || known.generation > generation) return null;
    const entries: ToldEntry[] = [{ id: known.entry_id + 1, atMs, kind: "registration", text }];
    this.#addHistory(name, entries);
    const before = JSON.parse(known.summary) as MachineSummary;
    const seq = this.nextSeq(before, null);
    this.#sql.exec("DELETE FROM machines WHERE name = ?", name);
    this.#sql.exec("DELETE FROM summaries WHERE name = ?", name);
    this.#sql.exec("INSERT INTO gone VALUES (?, ?, ?)", name, generation, seq);
    return { name, seq, before, after: null, entries };
  }

  summary(name: string): MachineSummary | null {
    const known = this.#known(name);
    return known ? (JSON.parse(known.summary) as MachineSummary) : null;
  }

  /** The number of the last change; 0: there was none. */
  seq(): number {
    return this.#sql.exec<{ value: number }>("SELECT value FROM sequence").one().value;
  }

  /** Kept with each change: counting 100,000 rows takes a while. */
  counts(): FleetCounts {
    const { counts } = this.#sql.exec<{ counts: string }>("SELECT counts FROM sequence").one();
    return JSON.parse(counts) as FleetCounts;
  }

  count(): number {
    return Object.values(this.counts()).reduce((sum, count) => sum + count, 0);
  }

  #known(name: string): Known | undefined {
    const query = `SELECT generation, version, entry_id, summary FROM machines JOIN summaries USING (name) WHERE name = ?`;
    return this.#sql.exec<Known>(query, name).toArray()[0];
  }

  /** Of a machine that is gone as well: what its object told before must not bring it back. */
  #generationOf(name: string, known: Known | undefined): number {
    if (known) return known.generation;
    const query = "SELECT generation FROM gone WHERE name = ?";
    const [gone] = this.#sql.exec<{ generation: number }>(query, name);
    return gone ? gone.generation + 1 : 0;
  }

  /** Of a change that is made now: of a machine, or (null, null) of something else. */
  nextSeq(before: MachineSummary | null, after: MachineSummary | null): number {
    const query = "UPDATE sequence SET value = value + 1, counts = ? RETURNING value";
    const counts = this.counts();
    for (const [summary, change] of [[before, -1] as const, [after, 1] as const]) {
      if (summary) counts[summary.state] = (counts[summary.state] ?? 0) + change;
    }
    return this.#sql.exec<{ value: number }>(query, JSON.stringify(counts)).one().value;
  }

  #put({ name, generation, version, summary }: MachineTelling, entryId: number, seq: number): void {
    const sets = setsOf(summary).map((text) => this.#setOf(text));
    this.#sql.exec("DELETE FROM gone WHERE name = ?", name);
    this.#sql.exec(
      PUT,
      generation,
      version,
      entryId,
      seq,
      ...searchValues(
        name,
        summary,
        sets.map(({ id }) => id),
      ),
    );
    if (sets.some(({ id, isNew }) => isNew && id % SETS_PRUNED_EVERY === 0)) this.#sql.exec(PRUNE_SETS);
  }

  #setOf(text: string): { id: number; isNew: boolean } {
    const [known] = this.#sql.exec<{ id: number }>("SELECT id FROM sets WHERE text = ?", text);
    if (known) return { id: known.id, isNew: false };
    const insert = "INSERT INTO sets (text) VALUES (?) RETURNING id";
    return { id: this.#sql.exec<{ id: number }>(insert, text).one().id, isNew: true };
  }

  #putSummary(name: string, text: string): void {
    this.#sql.exec(
      "INSERT INTO summaries VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET summary = excluded.summary",
      name,
      text,
    );
  }

  #addHistory(name: string, entries: readonly ToldEntry[]): void {
    if (entries.length === 0) return;
    const { lines, prunedEvery, prunedAtOnce } = FLEET_HISTORY_LIMITS;
    const insert = `INSERT INTO history (at_ms, name, kind, text)
      SELECT value ->> 'atMs', ?, value ->> 'kind', value ->> 'text' FROM json_each(?) RETURNING id`;
    const ids = this.#sql.exec<{ id: number }>(insert, name, JSON.stringify(entries)).toArray();
    if (!ids.some(({ id }) => id % prunedEvery === 0)) return;
    this.#sql.exec(
      `DELETE FROM history WHERE id IN (SELECT id FROM history ORDER BY id LIMIT ?)
       AND id <= (SELECT MAX(id) FROM history) - ?`,
      // One telling may bring many lines: more must go than came, or the bound would not hold.
      Math.max(prunedAtOnce, 2 * ids.length),
      lines,
    );
  }
}
