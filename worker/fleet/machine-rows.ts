// Stores the rows of the fleet index: each update of a machine's object once and in order. Machines share most
// labels and conditions, so each set of them is stored once and has a number, which a machine's row contains.
import { addressKey, versionKey } from "../../shared/fleet/sort-keys.ts";
import type { FleetCounts } from "../../shared/fleet/state.ts";
import type { MachineSummary, MachineUpdate, UpdateEntry, UpdatedUntil } from "../../shared/fleet/summary.ts";
import { HOSTNAME_LABELS } from "../../shared/kubernetes/labels.ts";
import type { FleetHistoryEntry } from "../../shared/protocol/fleet-answers.ts";
import type { FleetHistoryQuery } from "../../shared/protocol/fleet-api.ts";
import type { HistoryKind } from "../../shared/protocol/history-kinds.ts";
import { cell, column, hasRow } from "../storage/query.ts";
import { HeldBack } from "./shares.ts";

export const SET_COLUMNS = ["label_set", "condition_set", "word_set"] as const;

/** Columns of the table `machines`, in the order of searchValues. */
export const SEARCH_COLUMNS = [
  "name",
  "state",
  "since_ms",
  "phase",
  "shim_version",
  "version_key",
  "address",
  "address_key",
  "token",
  "is_unused",
  "own_label",
  "own_words",
  ...SET_COLUMNS,
] as const;

/** The number of the set without a member. */
export const EMPTY_SET = 0;

/** A change of one machine. Metrics, outages, the feed, notifications and the rollout receive it. */
export interface FleetChange {
  name: string;
  /** The number of the change. Changes of the index are numbered in their order. */
  seq: number;
  /** The summary before the change; null if the index did not know the machine. */
  before: MachineSummary | null;
  /** The summary after the change; null if the machine has left, or was forgotten. */
  after: MachineSummary | null;
  /** The new lines of the machine's history, oldest first. */
  entries: UpdateEntry[];
}

export const FLEET_HISTORY_LIMITS = {
  /** The limit of stored history lines of all machines together. PRUNE_HISTORY deletes further lines. */
  lines: 100_000,
  /** The number of new lines between two deletions of lines, since a deletion reads all lines. */
  prunedEvery: 5000,
  /**
   * The most lines of a join token's machines that may displace other tokens' lines in a day. The limit is higher if
   * the token has more older lines. A site of 300 machines that flaps writes some thousands.
   */
  linesADayOfToken: 10_000,
} as const;
const DAY_MS = 24 * 3600_000;

/** Adds the join token of the machine that a line is about. A Worker without this migration leaves the token empty. */
export const HISTORY_TOKENS_MIGRATION = `
  ALTER TABLE history ADD COLUMN token TEXT NOT NULL DEFAULT '';
  UPDATE history SET token = machines.token FROM machines WHERE machines.name = history.name;`;

/** Adds the reason to the words of machines that are not ready. A ready machine has no reason. */
export const REASON_WORDS_MIGRATION = `
  UPDATE machines SET own_words = own_words || char(10) || lower(summaries.summary ->> 'why')
  FROM summaries WHERE summaries.name = machines.name AND state <> 'ready';`;

/** The rules that are in a summary, and not in the other one. Triggers take the names OLD and NEW. */
const rulesOf = (summary: "OLD" | "NEW", other: "OLD" | "NEW") =>
  `SELECT value FROM json_each(${summary}.summary, '$.rules')
   EXCEPT SELECT value FROM json_each(${other}.summary, '$.rules')`;
const COUNT_UP = "ON CONFLICT DO UPDATE SET machines = machines + 1";
const COUNT_DOWN = "UPDATE rule_matches SET machines = machines - 1 WHERE rule IN";
const DROP_UNMATCHED = "DELETE FROM rule_matches WHERE machines = 0";

/**
 * Counts the machines that each feature rule matches. Triggers count, so that the numbers stay right while an earlier
 * Worker, which does not know them, uses the storage.
 */
export const RULE_MATCHES_MIGRATION = `
  CREATE TABLE rule_matches (rule TEXT PRIMARY KEY, machines INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TRIGGER rules_of_new AFTER INSERT ON summaries WHEN NEW.summary ->> 'rules' IS NOT NULL BEGIN
    INSERT INTO rule_matches SELECT DISTINCT value, 1 FROM json_each(NEW.summary, '$.rules') WHERE true ${COUNT_UP};
  END;
  CREATE TRIGGER rules_of_changed AFTER UPDATE ON summaries
  WHEN NEW.summary ->> 'rules' IS NOT OLD.summary ->> 'rules' BEGIN
    INSERT INTO rule_matches SELECT value, 1 FROM (${rulesOf("NEW", "OLD")}) WHERE true ${COUNT_UP};
    ${COUNT_DOWN} (${rulesOf("OLD", "NEW")});
    ${DROP_UNMATCHED};
  END;
  CREATE TRIGGER rules_of_removed AFTER DELETE ON summaries WHEN OLD.summary ->> 'rules' IS NOT NULL BEGIN
    ${COUNT_DOWN} (SELECT value FROM json_each(OLD.summary, '$.rules'));
    ${DROP_UNMATCHED};
  END;`;

/**
 * Deletes the lines above the limit, so that no token displaces other tokens' lines. Of each token, the machine with
 * the most lines loses its oldest line first. First go lines above a token's linesADayOfToken, then lines of the token
 * with the most.
 */
const PRUNE_HISTORY = `DELETE FROM history WHERE id IN (
  SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY token ORDER BY nth, id DESC) AS place,
      ROW_NUMBER() OVER (PARTITION BY token, isNew ORDER BY nth, id DESC) AS newPlace,
      SUM(NOT isNew) OVER (PARTITION BY token) AS older FROM
    (SELECT id, token, at_ms >= (SELECT MAX(at_ms) FROM history) - ?3 AS isNew,
       ROW_NUMBER() OVER (PARTITION BY token, name ORDER BY id DESC) AS nth FROM history))
  ORDER BY isNew AND newPlace > MAX(?2, older) DESC, place DESC, id
  LIMIT MAX(0, (SELECT COUNT(*) FROM history) - ?1)) RETURNING token, id`;

const PUT_COLUMNS = ["generation", "version", "entry_id", "seq", ...SEARCH_COLUMNS];
const PUT = `INSERT INTO machines (${PUT_COLUMNS.join()}) VALUES (${PUT_COLUMNS.map(() => "?").join()})
  ON CONFLICT (name) DO UPDATE SET ${PUT_COLUMNS.map((column) => `${column} = excluded.${column}`).join()}`;

/** The number of new sets after which unused sets are deleted. */
const SETS_PRUNED_EVERY = 100;
const PRUNE_SETS = `DELETE FROM sets WHERE id > 0 AND id NOT IN (${SET_COLUMNS.map((column) => `SELECT ${column} FROM machines`).join(" UNION ")})`;

type Known = { generation: number; version: number; entry_id: number; summary: string };

/** `rule`: as `object/rule`. */
export type RuleMatches = { rule: string; machines: number };

export class MachineRows {
  readonly #sql: SqlStorage;
  readonly #heldBack: HeldBack;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#heldBack = new HeldBack(sql);
  }

  /** Stores an update; call it in a transaction. `change`: null if the update is repeated, outdated or without news. */
  take(update: MachineUpdate): { until: UpdatedUntil; change: FleetChange | null } {
    const { name, generation, version, summary } = update;
    const known = this.#known(name);
    const isOutdated = generation < this.#generationOf(name, known);
    // The index lacks this machine's earlier updates (it was lost or restored): the object must send everything.
    if (!known && !isOutdated && update.isSequel) return { until: { entryId: 0 }, change: null };
    const isSame = known?.generation === generation;
    const entryId = isSame ? known.entry_id : 0;
    if (isOutdated || (isSame && version <= known.version))
      return { until: { entryId: isOutdated ? (update.entries.at(-1)?.id ?? 0) : entryId }, change: null };
    const entries = update.entries.filter(({ id }) => id > entryId);
    const until = entries.at(-1)?.id ?? entryId;
    const text = JSON.stringify(summary);
    if (isSame && entries.length === 0 && known.summary === text) {
      // The version is stored, so that an older update of this machine that arrives later counts as out of date.
      this.#sql.exec("UPDATE machines SET version = ? WHERE name = ?", version, name);
      return { until: { entryId }, change: null };
    }
    const before = known ? (JSON.parse(known.summary) as MachineSummary) : null;
    this.#addHistory(name, summary.key.token, entries);
    const seq = this.nextSeq(before, summary);
    this.#put(update, until, seq);
    const put =
      "INSERT INTO summaries VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET summary = excluded.summary";
    if (known?.summary !== text) this.#sql.exec(put, name, text);
    return { until: { entryId: until }, change: { name, seq, before, after: summary, entries } };
  }

  /** Removes a machine. Returns null if the index does not know the machine, or knows a newer generation. */
  remove(name: string, generation: number, atMs: number, text: string): FleetChange | null {
    const known = this.#known(name);
    if (!known || known.generation > generation) return null;
    const entries: UpdateEntry[] = [{ id: known.entry_id + 1, atMs, kind: "registration", text }];
    const before = JSON.parse(known.summary) as MachineSummary;
    this.#addHistory(name, before.key.token, entries);
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

  /** Returns the number of the last change; 0 before the first change. */
  seq(): number {
    return cell(this.#sql, "SELECT value FROM sequence");
  }

  /** Returns the number of machines in each state. The numbers are stored, since counting 100,000 rows takes long. */
  counts(): FleetCounts {
    return JSON.parse(cell(this.#sql, "SELECT counts FROM sequence")) as FleetCounts;
  }

  /** Returns the number of machines that each feature rule matches, without rules that match none. */
  ruleMatches(): RuleMatches[] {
    return this.#sql.exec<RuleMatches>("SELECT rule, machines FROM rule_matches").toArray();
  }

  count(): number {
    return Object.values(this.counts()).reduce((sum, count) => sum + count, 0);
  }

  #known(name: string): Known | undefined {
    const query = `SELECT generation, version, entry_id, summary FROM machines JOIN summaries USING (name) WHERE name = ?`;
    return this.#sql.exec<Known>(query, name).toArray()[0];
  }

  /** Returns the generation below which updates of a machine are out of date, even if the machine was removed. */
  #generationOf(name: string, known: Known | undefined): number {
    if (known) return known.generation;
    const query = "SELECT generation FROM gone WHERE name = ?";
    const [gone] = this.#sql.exec<{ generation: number }>(query, name);
    return gone ? gone.generation + 1 : 0;
  }

  /** Returns a new change's number, and updates the counts of states. Both arguments: null if no machine changed. */
  nextSeq(before: MachineSummary | null, after: MachineSummary | null): number {
    const counts = this.counts();
    for (const [summary, change] of [[before, -1] as const, [after, 1] as const]) {
      if (summary) counts[summary.state] = (counts[summary.state] ?? 0) + change;
    }
    const next = "UPDATE sequence SET value = value + 1, counts = ? RETURNING value";
    return cell(this.#sql, next, JSON.stringify(counts));
  }

  #put({ name, generation, version, summary }: MachineUpdate, entryId: number, seq: number): void {
    const sets = setsOf(summary).map((text) => this.#setOf(text));
    this.#sql.exec("DELETE FROM gone WHERE name = ?", name);
    const ids = sets.map(({ id }) => id);
    this.#sql.exec(PUT, generation, version, entryId, seq, ...searchValues(name, summary, ids));
    if (sets.some(({ id, isNew }) => isNew && id % SETS_PRUNED_EVERY === 0)) this.#sql.exec(PRUNE_SETS);
  }

  #setOf(text: string): { id: number; isNew: boolean } {
    const [known] = this.#sql.exec<{ id: number }>("SELECT id FROM sets WHERE text = ?", text);
    if (known) return { id: known.id, isNew: false };
    const insert = "INSERT INTO sets (text) VALUES (?) RETURNING id";
    return { id: cell(this.#sql, insert, text), isNew: true };
  }

  #addHistory(name: string, token: string, entries: readonly UpdateEntry[]): void {
    const { lines, prunedEvery, linesADayOfToken } = FLEET_HISTORY_LIMITS;
    const insert = `INSERT INTO history (at_ms, name, kind, text, token)
      SELECT value ->> 'atMs', ?, value ->> 'kind', value ->> 'text', ? FROM json_each(?) RETURNING id`;
    const ids = column<number>(this.#sql, insert, name, token, JSON.stringify(entries));
    if (!ids.some((id) => id % prunedEvery === 0)) return;
    const nowMs = entries.at(-1)!.atMs;
    const gone = this.#sql.exec<{ token: string; id: number }>(
      PRUNE_HISTORY,
      lines,
      linesADayOfToken,
      DAY_MS,
    );
    const lastOf = new Map<string, number>();
    for (const line of gone) lastOf.set(line.token, Math.max(line.id, lastOf.get(line.token) ?? 0));
    const kept = "SELECT 1 FROM history WHERE id < ? AND token <> ? LIMIT 1";
    for (const [loser, last] of lastOf)
      if (hasRow(this.#sql, kept, last, loser)) this.#heldBack.note("history", loser, nowMs);
  }
}

/** Returns the values of SEARCH_COLUMNS. `sets`: the numbers of the texts from setsOf. */
export function searchValues(
  name: string,
  summary: MachineSummary,
  sets: readonly number[],
): (string | number)[] {
  const { state, sinceMs, phase, why, versions, address, addresses, key, labels } = summary;
  const own = Object.entries(labels).filter(([label]) => HOSTNAME_LABELS.includes(label));
  return [
    name,
    state,
    sinceMs,
    phase ?? "",
    versions.shim,
    versionKey(versions.shim),
    address,
    addressKey(address),
    key.token,
    Number(!key.isUsed),
    pairsText(own),
    wordsText([
      name,
      ...own.map(([, value]) => value),
      address,
      ...addresses.map((each) => each.address),
      why,
    ]),
    ...sets,
  ];
}

/** Returns the texts of a machine's sets, in the order of SET_COLUMNS. */
function setsOf({ labels, conditions, versions }: MachineSummary): string[] {
  const common = Object.entries(labels).filter(([key]) => !HOSTNAME_LABELS.includes(key));
  return [
    pairsText(common.sort(([a], [b]) => (a < b ? -1 : 1))),
    pairsText(conditions.map(({ type, status }) => [type, status])),
    wordsText([...common.map(([, value]) => value), ...Object.values(versions)]),
  ];
}

/** Returns the words sorted, in lower case, each once, with line breaks between them. */
const wordsText = (words: readonly string[]) => [...new Set(words)].sort().join("\n").toLowerCase();

/** Joins pairs, with a line break around each pair. Neither a label nor a condition's type contains a line break. */
export function pairsText(pairs: readonly (readonly [string, string])[]): string {
  return pairs.length === 0 ? "" : `\n${pairs.map(([key, value]) => `${key}=${value}`).join("\n")}\n`;
}

export type FleetHistoryRequest = Omit<FleetHistoryQuery, "format" | "limit"> & { limit: number };

type Row = { id: number; at_ms: number; name: string; kind: HistoryKind; text: string };

export function readFleetHistory(
  sql: SqlStorage,
  { since, until, kind, name, text, before, limit }: FleetHistoryRequest,
  among?: { sql: string; bindings: (string | number)[] }, // a condition on the lines' names; absent for all names
): FleetHistoryEntry[] {
  const rows = sql.exec<Row>(
    `SELECT id, at_ms, name, kind, text FROM history
     WHERE (?2 IS NULL OR at_ms > ?2) AND (?3 IS NULL OR at_ms <= ?3)
       AND (?4 IS NULL OR kind IN (SELECT value FROM json_each(?4))) AND (?5 IS NULL OR name = ?5)
       AND (?6 IS NULL OR instr(lower(text), lower(?6)) > 0) AND id < ?7 ${among ? `AND ${among.sql}` : ""}
     ORDER BY id DESC LIMIT ?1`,
    limit,
    since ?? null,
    until ?? null,
    kind ? JSON.stringify(kind) : null,
    name ?? null,
    text ?? null,
    before ?? Number.MAX_SAFE_INTEGER,
    ...(among?.bindings ?? []),
  );
  return [...rows].map(({ at_ms, ...row }) => ({ ...row, at: new Date(at_ms).toISOString() }));
}
