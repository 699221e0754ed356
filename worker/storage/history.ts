// Stores a machine's history: a line for each change. Each entry, each day and the whole history are limited.
import type { HistoryEntry } from "../../shared/protocol/operator-answers.ts";
import type { HistoryKind } from "../../shared/protocol/history-kinds.ts";
import { EARLIER_BY_OTHERS, NO_ANSWER } from "../../shared/fleet/history-lines.ts";
import {
  FULL_DAY,
  SHIM_STARTED,
  type TimelineLine,
  type TimelineRange,
} from "../../shared/fleet/timeline.ts";
import type { UpdateEntry } from "../../shared/fleet/summary.ts";
import { TIMELINE_LIMITS } from "../../shared/protocol/limits.ts";
import { prune } from "./prune.ts";
import { shortened } from "./shortened.ts";
import type { Tables } from "./tables.ts";

/** The filter of a history request. Times are milliseconds since 1970. */
export interface HistoryRequest {
  /** Only entries after this time are returned; undefined: no bound. */
  since?: number | undefined;
  /** Only entries at this time or before are returned; undefined: no bound. */
  until?: number | undefined;
  kind?: HistoryKind[] | undefined;
  /** Only entries with a lower ID are returned; undefined: the newest entries. */
  before?: number | undefined;
  limit: number;
}

export type History = ReturnType<typeof machineHistory>;

/** The lines of history about a range of time. */
export interface KnownLines {
  /** First the lines with the state at the range's begin, then the lines within the range, oldest first. */
  lines: TimelineLine[];
  /** true if the range has more lines: `lines` has only the latest lines, without the state at the range's begin. */
  isCut: boolean;
  /** The time of the oldest stored line; null if no line is stored. */
  oldestMs: number | null;
}

export const HISTORY_LIMITS = {
  entries: 10_000,
  /** The limit of characters of an entry. A longer text is cut. */
  entryLength: 1024,
  /**
   * The limit of characters of a day's entries (UTC); each row counts `entryShare` more. Later entries of the day are
   * dropped, and a last entry reports that. Entries of the kind `identity` have a separate limit.
   */
  dayLength: 65_536,
  entryShare: 64,
  /** The limit of characters of a page: reading a page needs no more memory than a report. */
  pageLength: 262_144,
  /** The limit of characters of one update of the fleet index. */
  toldLength: 65_536,
} as const;
const DAY_MS = 24 * 3600 * 1000;
const MAX_AGE_MS = 90 * DAY_MS;
/** The number of new entries between two deletions of PRUNED_AT_ONCE old or surplus entries. */
const PRUNED_EVERY = 10;
const PRUNED_AT_ONCE = 20;
/** Inserts all entries of a call, since a statement costs more than a row. */
const INSERT = `INSERT INTO history (at_ms, kind, text) SELECT ?, ?, value FROM json_each(?)
  RETURNING id % ${PRUNED_EVERY} = 0 AS prunes`;

/** More rows than one day can have, even if both kinds of entries reach their limits. */
const DAY_ROWS = (3 * HISTORY_LIMITS.dayLength) / HISTORY_LIMITS.entryShare;
const DAY_LENGTH = `SELECT IFNULL(SUM(LENGTH(text) + ${HISTORY_LIMITS.entryShare}), 0) AS length FROM history
  WHERE id > (SELECT MAX(id) FROM history) - ${DAY_ROWS} AND at_ms >= ? AND (kind = 'identity') = ?`;

/**
 * Selects the last lines before a range: each condition, state, silence, start of the shim, full day, clones. A line
 * about a condition that another writer has set has a blank before its first colon, or an earlier version's ending.
 */
const AT_BEGIN = `SELECT MAX(id) AS id, at_ms, kind, text FROM history
  WHERE at_ms < ?1 AND kind <> 'identity' AND (text IN (?2, ?3) OR kind = 'state' OR kind = 'silence' AND text NOT LIKE '${NO_ANSWER}%'
    OR kind = 'condition' AND substr(text, 1, instr(text, ':')) NOT LIKE '% %' AND text NOT LIKE '%)${EARLIER_BY_OTHERS}'
    OR kind IN ('phase', 'apiserver') AND text LIKE '%cloned%')
  GROUP BY CASE WHEN kind = 'condition' THEN substr(text, 1, instr(text, ':')) WHEN text IN (?2, ?3) THEN text ELSE kind END
  ORDER BY id DESC LIMIT ?4`;
/** The number of lines that AT_BEGIN selects, above the number of conditions of one Node. */
const LINES_AT_BEGIN = 100;

type HistoryRow = { id: number; at_ms: number; kind: HistoryKind; text: string };

/** Returns a function that selects a call's texts that fit into the day. The last text reports a full day. */
function dayLimit(sql: SqlStorage) {
  /** The number of characters of the day so far, for each limit. After an eviction, SQLite provides the number. */
  const known = new Map<"identity" | "others", { startMs: number; length: number }>();
  return (kind: HistoryKind, texts: readonly string[], nowMs: number): string[] => {
    const share = kind === "identity" ? "identity" : "others";
    const startMs = nowMs - (nowMs % DAY_MS);
    const today = known.get(share);
    let length =
      today?.startMs === startMs
        ? today.length
        : sql.exec<{ length: number }>(DAY_LENGTH, startMs, Number(share === "identity")).one().length;
    const kept: string[] = [];
    for (const text of texts.map((each) => shortened(each, HISTORY_LIMITS.entryLength))) {
      if (length >= HISTORY_LIMITS.dayLength) break;
      length += text.length + HISTORY_LIMITS.entryShare;
      kept.push(text);
      if (length >= HISTORY_LIMITS.dayLength) kept.push(FULL_DAY);
    }
    known.set(share, { startMs, length });
    return kept;
  };
}

export function machineHistory(sql: SqlStorage, tables: Tables) {
  const withinDay = dayLimit(sql);
  return {
    add(kind: HistoryKind, texts: readonly string[], nowMs: number): void {
      if (texts.length === 0) return;
      tables.make();
      const kept = withinDay(kind, texts, nowMs);
      if (kept.length === 0) return;
      const added = sql.exec<{ prunes: number }>(INSERT, nowMs, kind, JSON.stringify(kept)).toArray();
      if (added.some(({ prunes }) => prunes))
        prune(sql, "history", {
          entries: HISTORY_LIMITS.entries,
          beforeMs: nowMs - MAX_AGE_MS,
          atOnce: PRUNED_AT_ONCE,
        });
    },
    /** Returns a page of entries, newest first. */
    read({ since = 0, until, before, kind, limit }: HistoryRequest): HistoryEntry[] {
      if (!tables.exist()) return [];
      const rows = sql.exec<HistoryRow>(
        `SELECT id, at_ms, kind, text FROM history
         WHERE at_ms > ?1 AND (?2 IS NULL OR at_ms <= ?2) AND (?3 IS NULL OR id < ?3)
           AND (?4 IS NULL OR kind IN (SELECT value FROM json_each(?4))) ORDER BY id DESC LIMIT ?5`,
        since,
        until ?? null,
        before ?? null,
        kind ? JSON.stringify(kind) : null,
        limit,
      );
      return page(rows).map(({ at_ms, ...entry }) => ({ ...entry, at: new Date(at_ms).toISOString() }));
    },
    /** Returns at most a page of the entries after the entry with this ID, oldest first. */
    after(id: number, limit: number): UpdateEntry[] {
      if (!tables.exist()) return [];
      const query = "SELECT id, at_ms, kind, text FROM history WHERE id > ? ORDER BY id LIMIT ?";
      const rows = page(sql.exec<HistoryRow>(query, id, limit), HISTORY_LIMITS.toldLength);
      return rows.map(({ at_ms: atMs, ...entry }) => ({ ...entry, atMs }));
    },
    /** Returns the ID of the last entry; 0 without an entry. */
    lastId(): number {
      if (!tables.exist()) return 0;
      return sql.exec<{ id: number | null }>("SELECT MAX(id) AS id FROM history").one().id ?? 0;
    },
    /** Returns the lines about a range. Both ends are milliseconds since 1970, and inclusive. */
    around: (range: TimelineRange): KnownLines =>
      tables.exist() ? linesAround(sql, range) : { lines: [], isCut: false, oldestMs: null },
  };
}

function linesAround(sql: SqlStorage, { sinceMs, untilMs }: TimelineRange): KnownLines {
  const { lines: most } = TIMELINE_LIMITS;
  const query =
    "SELECT id, at_ms, kind, text FROM history WHERE at_ms BETWEEN ? AND ? ORDER BY id DESC LIMIT ?";
  const rows = sql.exec<HistoryRow>(query, sinceMs, untilMs, most + 1).toArray();
  const kept = page(rows.slice(0, most));
  const isCut = kept.length < rows.length;
  const atBegin = () => sql.exec<HistoryRow>(AT_BEGIN, sinceMs, SHIM_STARTED, FULL_DAY, LINES_AT_BEGIN);
  const lines = [...kept, ...(isCut ? [] : page(atBegin()))].toReversed();
  const [oldest] = sql.exec<{ at_ms: number }>("SELECT at_ms FROM history ORDER BY id LIMIT 1").toArray();
  return {
    lines: lines.map(({ at_ms: atMs, kind, text }) => ({ atMs, kind, text })),
    isCut,
    oldestMs: oldest?.at_ms ?? null,
  };
}

/** Returns the first rows that fit into a page, at least one row: earlier versions stored longer texts. */
function page(rows: Iterable<HistoryRow>, maxLength: number = HISTORY_LIMITS.pageLength): HistoryRow[] {
  const kept: HistoryRow[] = [];
  let length = 0;
  for (const row of rows) {
    const text = shortened(row.text, HISTORY_LIMITS.entryLength);
    length += text.length;
    if (kept.length > 0 && length > maxLength) break;
    kept.push({ ...row, text });
  }
  return kept;
}
