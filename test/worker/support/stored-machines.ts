// Writes many machines into a fleet index at once.
import type { MachineSummary } from "../../../shared/fleet/summary.ts";
import { SEARCH_COLUMNS } from "../../../worker/fleet/machine-rows.ts";

/**
 * Writes the rows that one update of each machine from `from` to before `to` would leave. The number of a machine's
 * change is the machine's number, from 1 on.
 */
export function writeMachines(
  sql: SqlStorage,
  made: {
    from: number;
    to: number;
    nameOf: (index: number) => string;
    summaryOf: (index: number) => MachineSummary;
  },
): void {
  const { from, to, nameOf } = made;
  const read = "SELECT value ->> 0 AS name, value ->> 1 AS seq, value ->> 2 AS summary FROM json_each(?)";
  // SQLite accepts no text longer than 2 MB, so the machines are written in parts.
  for (let first = from; first < to; first += 500) {
    const machines = Array.from({ length: Math.min(500, to - first) }, (_, each) => {
      const index = first + each;
      return [nameOf(index), index + 1, JSON.stringify(made.summaryOf(index))];
    });
    const text = JSON.stringify(machines);
    sql.exec(`INSERT INTO summaries SELECT name, summary FROM (${read})`, text);
    sql.exec(`INSERT INTO feed_whole SELECT name, seq FROM (${read})`, text);
    const others = SEARCH_COLUMNS.filter((column) => column !== "name");
    sql.exec(
      `INSERT INTO machines (name, generation, version, entry_id, seq, ${others.join()})
       SELECT name, 1, 1, 0, seq, ${others.map(() => "''").join()} FROM (${read})`,
      text,
    );
  }
  sql.exec("UPDATE sequence SET value = ?", to);
}
