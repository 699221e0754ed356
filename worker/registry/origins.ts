// Records the origin to which each machine reports, at most daily. Operators see which machines still use a domain.
import type { OriginMachine, OriginUse } from "../../shared/protocol/operator-answers.ts";
import type { OriginMachinesQuery } from "../../shared/protocol/operator-api.ts";

export type OriginMachinesRequest = Omit<OriginMachinesQuery, "format" | "limit"> & { limit: number };

/** Selects the last origin of each machine. SQLite takes the other columns from the row with the maximum. */
const LATEST = "SELECT name, origin, MAX(at_ms) AS at_ms FROM origin_uses GROUP BY name";

export function noteOrigin(sql: SqlStorage, name: string, origin: string, nowMs: number): void {
  sql.exec("INSERT OR REPLACE INTO origin_uses VALUES (?, ?, ?)", name, origin, nowMs);
}

/** Deletes the stored origins of a machine that is gone. */
export function forgetOrigins(sql: SqlStorage, name: string): void {
  sql.exec("DELETE FROM origin_uses WHERE name = ?", name);
}

/** Returns the configured origins, then all other origins that machines have used. */
export function listOrigins(sql: SqlStorage, configured: readonly string[]): OriginUse[] {
  const rows = sql.exec<{ origin: string; last: number; machines: number }>(
    `SELECT origin, MAX(at_ms) AS last, (SELECT COUNT(*) FROM (${LATEST}) WHERE origin = uses.origin) AS machines
     FROM origin_uses AS uses GROUP BY origin ORDER BY origin`,
  );
  const used = new Map(rows.toArray().map((row) => [row.origin, row]));
  return [...new Set([...configured, ...used.keys()])].map((origin) => {
    const { last, machines } = used.get(origin) ?? { last: null, machines: 0 };
    const lastUsedAt = last === null ? null : new Date(last).toISOString();
    return { origin, isConfigured: configured.includes(origin), lastUsedAt, machines };
  });
}

/** Returns the machines whose last origin is the requested origin, sorted by name. */
export function listOriginMachines(
  sql: SqlStorage,
  { origin, after, limit }: OriginMachinesRequest,
): OriginMachine[] {
  const rows = sql.exec<{ name: string; at_ms: number }>(
    `SELECT name, at_ms FROM (${LATEST}) WHERE origin = ? AND name > ? ORDER BY name LIMIT ?`,
    origin,
    after,
    limit,
  );
  return rows.toArray().map(({ name, at_ms }) => ({ name, lastUsedAt: new Date(at_ms).toISOString() }));
}
