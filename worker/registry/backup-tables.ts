// What a backup has of the registry's tables, and reading them page by page. No secret is in them: public keys, and the
// SHA-256 of operators' secrets. Left out is what comes back by itself: who waits, sessions, origins and gateways in use.
import type { BackupCell, BackupRows, BackupTable } from "../../shared/protocol/backup.ts";
import { BACKUP_LIMITS } from "../../shared/protocol/limits.ts";

export type RegistryTable = Exclude<BackupTable, "deployment" | "receivers" | "mutes">;

interface KeptTable {
  columns: readonly string[];
  /** By which its rows are ordered: unique. */
  key: readonly string[];
}

const LOG: KeptTable = { columns: ["id", "at_ms", "who", "what", "target", "detail"], key: ["id"] };

export const REGISTRY_TABLES: Record<RegistryTable, KeptTable> = {
  pins: {
    columns: [
      "name",
      "thumbprint",
      "next_thumbprint",
      "next_key",
      "generation",
      "token",
      "machine",
      "pinned_at_ms",
      "reported_at_ms",
      "revoked_at_ms",
    ],
    key: ["name"],
  },
  enrolments: {
    columns: ["token", "name", "thumbprint", "admitted_at_ms"],
    key: ["token", "name", "thumbprint"],
  },
  tokens: {
    columns: [
      "id",
      "key",
      "names",
      "rejoin",
      "uses",
      "used",
      "allowed",
      "created_at_ms",
      "created_by",
      "expires_at_ms",
      "revoked_at_ms",
    ],
    key: ["id"],
  },
  operators: {
    columns: [
      "name",
      "role",
      "sha256",
      "created_at_ms",
      "created_by",
      "expires_at_ms",
      "used_at_ms",
      "revoked_at_ms",
    ],
    key: ["name"],
  },
  audit: LOG,
  machine_log: LOG,
  tombstones: { columns: ["thumbprint", "name", "left_at_ms", "why"], key: ["thumbprint", "name"] },
  generation: { columns: ["only", "value"], key: ["only"] },
};

/** A page of a table, and where the next one begins; null: this is its last. */
export interface TablePage {
  rows: BackupRows;
  next: BackupCell[] | null;
}

/** `after`: the key of the last row before; null: from the first on. */
export function readTable(sql: SqlStorage, table: RegistryTable, after: BackupCell[] | null): TablePage {
  const { columns, key } = REGISTRY_TABLES[table];
  const from = after ?? firstOf(sql, table);
  const behind = from ? `WHERE (${key.join(", ")}) > (${key.map(() => "?").join(", ")})` : "";
  const query = `SELECT ${columns.join(", ")} FROM ${table} ${behind} ORDER BY ${key.join(", ")} LIMIT ?`;
  const rows: BackupCell[][] = [];
  let bytes = 0;
  let isWhole = true;
  for (const row of sql.exec(query, ...(from ?? []), BACKUP_LIMITS.rowsOfPage + 1).raw()) {
    const cells = row.map((cell) => (cell instanceof ArrayBuffer ? null : cell));
    bytes += JSON.stringify(cells).length;
    isWhole =
      rows.length === 0 || (rows.length < BACKUP_LIMITS.rowsOfPage && bytes < BACKUP_LIMITS.pageBytes);
    if (!isWhole) break;
    rows.push(cells);
  }
  const last = rows.at(-1);
  const next = isWhole || !last ? null : key.map((name) => last[columns.indexOf(name)] ?? null);
  return { rows: { table, columns: [...columns], rows }, next };
}

/** Of what machines caused, the newest entries alone. */
function firstOf(sql: SqlStorage, table: RegistryTable): BackupCell[] | null {
  if (table !== "machine_log") return null;
  const { last } = sql.exec<{ last: number | null }>("SELECT MAX(id) AS last FROM machine_log").one();
  return [(last ?? 0) - BACKUP_LIMITS.machineEntries];
}
