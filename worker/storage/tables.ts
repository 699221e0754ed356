// Creates a machine object's tables with the first row: a read creates no table. On waking, migrates earlier tables.
import { migrate, type Migration, stateVersion } from "./migrations.ts";

export type Tables = ReturnType<typeof nodeTables>;

/** The migrations of a machine's object. Append only: existing objects have run the earlier entries. */
export const NODE_MIGRATIONS: readonly Migration[] = [
  `CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS outbox (
     id INTEGER PRIMARY KEY, at_micros INTEGER NOT NULL, type TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL
   );
   CREATE TABLE IF NOT EXISTS history (
     id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
   );`,
  // `samples` is the last column, so that SQLite reads keys and values without reading samples.
  "ALTER TABLE records ADD COLUMN samples BLOB",
];

/** Returns the number of migrations that an object had run before objects had a table of migrations. */
function madeEarlier(sql: SqlStorage): number {
  const made = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'records'";
  const [records] = sql.exec<{ sql: string }>(made).toArray();
  if (!records) return 0;
  return records.sql.includes("samples BLOB") ? 2 : 1;
}

/** Returns the tables of a machine's object. Throws a NewerStateError, as `migrate` does. */
export function nodeTables(storage: Pick<DurableObjectStorage, "sql" | "transactionSync">) {
  const { sql } = storage;
  const bringUpToDate = () => migrate(storage, NODE_MIGRATIONS, madeEarlier);
  const stored = stateVersion(sql);
  let exist = stored !== null || madeEarlier(sql) > 0;
  if (exist && stored !== NODE_MIGRATIONS.length) bringUpToDate();
  let writes = 0;
  return {
    /** Reports whether the tables exist; if not, nothing is stored. */
    exist: () => exist,
    /** Returns the number of writes since the object woke. */
    writes: () => writes,
    /** Creates or migrates the tables if needed. Call make before each write. */
    make(): void {
      writes++;
      if (exist) return;
      bringUpToDate();
      exist = true;
    },
  };
}
