// What happened to the watch of the cluster's Nodes, and when: a few lines for operators.
import type { ClusterEvent } from "../../shared/protocol/operator-answers.ts";
import { shortened } from "../storage/shortened.ts";

export const CLUSTER_HISTORY_LIMITS = { entries: 500, entryLength: 512 } as const;

export interface ClusterHistoryRequest {
  /** What came before the entry of this ID. */
  before?: number | undefined;
  limit: number;
}

export interface ClusterHistory {
  /** Two rows at most. */
  add: (text: string, nowMs: number) => void;
  /** Newest first. */
  read: (request: ClusterHistoryRequest) => ClusterEvent[];
}

export function clusterHistory(sql: SqlStorage): ClusterHistory {
  const { entries, entryLength } = CLUSTER_HISTORY_LIMITS;
  return {
    add(text, nowMs) {
      sql.exec("INSERT INTO history (at_ms, text) VALUES (?, ?)", nowMs, shortened(text, entryLength));
      sql.exec("DELETE FROM history WHERE id <= (SELECT MAX(id) FROM history) - ?", entries);
    },
    read({ before, limit }) {
      const rows = sql.exec<{ id: number; at_ms: number; text: string }>(
        "SELECT id, at_ms, text FROM history WHERE id < ? ORDER BY id DESC LIMIT ?",
        before ?? Number.MAX_SAFE_INTEGER,
        limit,
      );
      return [...rows].map(({ id, at_ms, text }) => ({ id, at: new Date(at_ms).toISOString(), text }));
    },
  };
}
