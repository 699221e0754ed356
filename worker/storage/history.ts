// What changed on a machine and when, kept in its object: the newest 10,000 entries, at most 90 days. Written on
// change only.

import type { HistoryEntry } from "../../shared/protocol/operator-answers.ts";
import type { HistoryKind, HistoryQuery } from "../../shared/protocol/operator-api.ts";
import type { Tables } from "./tables.ts";

export interface History {
  add: (kind: HistoryKind, texts: readonly string[], nowMs: number) => void;
  /** Newest first. */
  read: (query: HistoryQuery) => HistoryEntry[];
}

export const MAX_HISTORY_ENTRIES = 10_000;
const MAX_HISTORY_AGE_MS = 90 * 24 * 3600 * 1000;
/** Entries that are too old go in small portions, with every tenth entry that comes. */
const PRUNED_EVERY = 10;
const PRUNED_AT_ONCE = 20;
/** A statement costs more than a row: one for all. */
const INSERT = `INSERT INTO history (at_ms, kind, text) SELECT ?, ?, value FROM json_each(?)
  RETURNING id % ${PRUNED_EVERY} = 0 AS prunes`;

export function machineHistory(sql: SqlStorage, tables: Tables): History {
  return {
    add(kind, texts, nowMs) {
      if (texts.length === 0) return;
      tables.make();
      const added = sql.exec<{ prunes: number }>(INSERT, nowMs, kind, JSON.stringify(texts)).toArray();
      if (!added.some(({ prunes }) => prunes)) return;
      sql.exec(
        `DELETE FROM history WHERE id IN (SELECT id FROM history ORDER BY id LIMIT ?)
         AND (at_ms < ? OR id <= (SELECT MAX(id) FROM history) - ?)`,
        PRUNED_AT_ONCE,
        nowMs - MAX_HISTORY_AGE_MS,
        MAX_HISTORY_ENTRIES,
      );
    },
    read({ since, kind = null, limit }) {
      if (!tables.exist()) return [];
      const sinceMs = since === undefined ? 0 : Date.parse(since);
      const rows = sql.exec<{ at_ms: number; kind: HistoryKind; text: string }>(
        "SELECT at_ms, kind, text FROM history WHERE at_ms > ? AND (? IS NULL OR kind = ?) ORDER BY id DESC LIMIT ?",
        sinceMs,
        kind,
        kind,
        limit,
      );
      return rows
        .toArray()
        .map(({ at_ms, kind, text }) => ({ at: new Date(at_ms).toISOString(), kind, text }));
    },
  };
}
