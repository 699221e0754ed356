// The rows of the fleet index: what machines' objects told, each once and in order. Decides nothing about a machine.
import type { MachineSummary, MachineTelling, ToldEntry, ToldUntil } from "../../shared/fleet/summary.ts";

/** What became of one machine: what listens to the index (outages, notifications, the feed) is called with it. */
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

type Known = { generation: number; version: number; entry_id: number; summary: string };

export class MachineRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Takes a telling over. `change` is null where it came before, or is out of date. Call it in a transaction. */
  take(telling: MachineTelling): { until: ToldUntil; change: FleetChange | null } {
    const { name, generation, version, summary } = telling;
    const known = this.#known(name);
    const isOutdated = generation < this.#generationOf(name, known);
    const isSame = known?.generation === generation;
    const entryId = isSame ? known.entry_id : 0;
    if (isOutdated || (isSame && version <= known.version))
      return { until: { entryId: isOutdated ? (telling.entries.at(-1)?.id ?? 0) : entryId }, change: null };
    const entries = telling.entries.filter(({ id }) => id > entryId);
    const until = entries.at(-1)?.id ?? entryId;
    const text = JSON.stringify(summary);
    const before = known ? (JSON.parse(known.summary) as MachineSummary) : null;
    this.#addHistory(name, entries);
    const seq = this.#nextSeq();
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
    const seq = this.#nextSeq();
    this.#sql.exec("DELETE FROM machines WHERE name = ?", name);
    this.#sql.exec("DELETE FROM summaries WHERE name = ?", name);
    this.#sql.exec("INSERT INTO gone VALUES (?, ?, ?)", name, generation, seq);
    return { name, seq, before: JSON.parse(known.summary) as MachineSummary, after: null, entries };
  }

  summary(name: string): MachineSummary | null {
    const known = this.#known(name);
    return known ? (JSON.parse(known.summary) as MachineSummary) : null;
  }

  /** The number of the last change; 0: there was none. */
  seq(): number {
    return this.#sql.exec<{ value: number }>("SELECT value FROM sequence").one().value;
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

  #nextSeq(): number {
    const query = "UPDATE sequence SET value = value + 1 RETURNING value";
    return this.#sql.exec<{ value: number }>(query).one().value;
  }

  #put({ name, generation, version, summary }: MachineTelling, entryId: number, seq: number): void {
    const { state, sinceMs, phase, versions, address, conditions, labels } = summary;
    this.#sql.exec("DELETE FROM gone WHERE name = ?", name);
    this.#sql.exec(
      "INSERT OR REPLACE INTO machines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      name,
      generation,
      version,
      entryId,
      seq,
      state,
      sinceMs,
      phase ?? "",
      versions.shim,
      address,
      pairsText(conditions.map(({ type, status }) => [type, status])),
      pairsText(Object.entries(labels)),
    );
  }

  #putSummary(name: string, text: string): void {
    this.#sql.exec("INSERT OR REPLACE INTO summaries VALUES (?, ?)", name, text);
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
      prunedAtOnce,
      lines,
    );
  }
}

/**
 * A set of pairs as a text in which one of them is found without parsing: each between line breaks, which neither a
 * label nor a condition's type can have.
 */
export function pairsText(pairs: readonly (readonly [string, string])[]): string {
  return pairs.length === 0 ? "" : `\n${pairs.map(([key, value]) => `${key}=${value}`).join("\n")}\n`;
}
