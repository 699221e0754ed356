// What changed on all machines, as the fleet index has it: newest first, in pages. Changes nothing.
import type { HistoryKind } from "../../shared/protocol/operator-api.ts";
import type { FleetHistoryEntry } from "../../shared/protocol/fleet-answers.ts";
import type { FleetHistoryQuery } from "../../shared/protocol/fleet-api.ts";

export type FleetHistoryRequest = Omit<FleetHistoryQuery, "format" | "limit"> & { limit: number };

type Row = { id: number; at_ms: number; name: string; kind: HistoryKind; text: string };

export function readFleetHistory(
  sql: SqlStorage,
  { since, until, kind, name, text, before, limit }: FleetHistoryRequest,
): FleetHistoryEntry[] {
  const rows = sql.exec<Row>(
    `SELECT id, at_ms, name, kind, text FROM history
     WHERE (?1 IS NULL OR at_ms > ?1) AND (?2 IS NULL OR at_ms <= ?2)
       AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3))) AND (?4 IS NULL OR name = ?4)
       AND (?5 IS NULL OR instr(lower(text), lower(?5)) > 0) AND id < ?6 ORDER BY id DESC LIMIT ?7`,
    since ?? null,
    until ?? null,
    kind ? JSON.stringify(kind) : null,
    name ?? null,
    text ?? null,
    before ?? Number.MAX_SAFE_INTEGER,
    limit,
  );
  return [...rows].map(({ at_ms, ...row }) => ({ ...row, at: new Date(at_ms).toISOString() }));
}
