// Deletes old rows of a table that only grows.

/** `entries`: how many rows stay. `beforeMs`: older rows are deleted. `atOnce`: how many rows one call deletes. */
interface Bounds {
  entries?: number;
  beforeMs?: number;
  atOnce: number;
}

/** Deletes the oldest rows that exceed the bounds. The table must have the columns `id`, which rises, and `at_ms`. */
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
