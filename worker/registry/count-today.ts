// Counts what an operator may cause so many times a day (UTC), in the table of refused changes, which came first. A new day's
// first count forgets those before.
const DAY_MS = 24 * 3600 * 1000;

/** How many there were of this today (UTC), with this one; one that is beyond `most` is not counted, nor is any row written. */
export function countToday(sql: SqlStorage, what: string, most: number, nowMs: number): number {
  const day = Math.floor(nowMs / DAY_MS);
  const query = "SELECT count FROM refused_changes WHERE who = ? AND day = ?";
  const count = (sql.exec<{ count: number }>(query, what, day).toArray()[0]?.count ?? 0) + 1;
  if (count > most) return count;
  if (count === 1) sql.exec("DELETE FROM refused_changes WHERE day <> ?", day);
  sql.exec("INSERT OR REPLACE INTO refused_changes VALUES (?, ?, ?)", what, day, count);
  return count;
}
