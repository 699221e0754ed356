// Bounds a table that only grows.

/** `entries`: rows that stay at most. `beforeMs`: rows from before are deleted. `atOnce`: rows that one call deletes at most. */
interface Bounds {
  entries?: number;
  beforeMs?: number;
  atOnce: number;
}

/** Deletes the oldest rows outside the bounds. The table has the columns `id`, which rises, and `at_ms`. */
export function prune(
  sql: SqlStorage,
  table: string,
  { entries = Number.MAX_SAFE_INTEGER, beforeMs = 0, atOnce }: Bounds,
): void {
  sql.exec(
    `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} ORDER BY id LIMIT ?)
     AND (at_ms < ? OR id <= (SELECT MAX(id) FROM ${table}) - ?)`,
    atOnce,
    beforeMs,
    entries,
  );
}
