// The tables of a node object, which are made in the transaction of its first row: an object that is only read makes
// none, and one that wakes does not make them again.

export interface Tables {
  /** False: there is nothing to read. */
  exist: () => boolean;
  /** Call it before a write. */
  make: () => void;
  /** How often that was so since the object woke: where it is the same, nothing was written. */
  writes: () => number;
}

const TABLES = {
  records: "(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
  outbox: `(id INTEGER PRIMARY KEY, at_micros INTEGER NOT NULL, type TEXT NOT NULL, reason TEXT NOT NULL,
    message TEXT NOT NULL)`,
  history: "(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL)",
};

export function nodeTables(sql: SqlStorage): Tables {
  const names = Object.keys(TABLES);
  const count = `SELECT COUNT(*) AS tables FROM sqlite_master WHERE type = 'table' AND name IN ('${names.join("', '")}')`;
  let exist = sql.exec<{ tables: number }>(count).one().tables === names.length;
  let writes = 0;
  return {
    exist: () => exist,
    writes: () => writes,
    make() {
      writes++;
      if (exist) return;
      for (const [name, columns] of Object.entries(TABLES)) {
        sql.exec(`CREATE TABLE IF NOT EXISTS ${name} ${columns}`);
      }
      exist = true;
    },
  };
}
