// The tables of a node object, which are made in the transaction of its first row: an object that is only read makes
// none, and one that wakes does not make them again. What an earlier version made gets its new column in the same way.

export interface Tables {
  /** False: there is nothing to read. */
  exist: () => boolean;
  /** Does `records` have the column of samples? An earlier version made it without. */
  haveSamples: () => boolean;
  /** Call it before a write. */
  make: () => void;
  /** How often that was so since the object woke: where it is the same, nothing was written. */
  writes: () => number;
}

const TABLES = {
  /** The column of samples comes last: SQLite reads keys and values without it. */
  records: "(key TEXT PRIMARY KEY, value TEXT NOT NULL, samples BLOB) WITHOUT ROWID",
  outbox: `(id INTEGER PRIMARY KEY, at_micros INTEGER NOT NULL, type TEXT NOT NULL, reason TEXT NOT NULL,
    message TEXT NOT NULL)`,
  history: "(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL)",
};

export function nodeTables(sql: SqlStorage): Tables {
  const names = Object.keys(TABLES);
  const made = `SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name IN ('${names.join("', '")}')`;
  const found = sql.exec<{ name: string; sql: string }>(made).toArray();
  let exist = found.length === names.length;
  const records = found.find(({ name }) => name === "records")?.sql;
  let haveSamples = records?.includes("samples BLOB") ?? false;
  let writes = 0;
  return {
    exist: () => exist,
    haveSamples: () => haveSamples,
    writes: () => writes,
    make() {
      writes++;
      if (exist && haveSamples) return;
      if (records !== undefined && !haveSamples) sql.exec("ALTER TABLE records ADD COLUMN samples BLOB");
      for (const [name, columns] of Object.entries(TABLES)) {
        sql.exec(`CREATE TABLE IF NOT EXISTS ${name} ${columns}`);
      }
      exist = true;
      haveSamples = true;
    },
  };
}
