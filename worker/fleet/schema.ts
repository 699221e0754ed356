// The tables of the fleet index, which storage/migrations.ts makes.

/** Add to them, and never change one: existing objects have run them. */
export const INDEX_MIGRATIONS: readonly string[] = [
  // What machines are found by is apart from what is shown of them: a search reads the first table alone.
  `CREATE TABLE machines (
     name TEXT PRIMARY KEY, generation INTEGER NOT NULL, version INTEGER NOT NULL, entry_id INTEGER NOT NULL,
     seq INTEGER NOT NULL, state TEXT NOT NULL, since_ms INTEGER NOT NULL, phase TEXT NOT NULL,
     shim_version TEXT NOT NULL, address TEXT NOT NULL, conditions TEXT NOT NULL, labels TEXT NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX machines_by_seq ON machines (seq);
   CREATE TABLE summaries (name TEXT PRIMARY KEY, summary TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE gone (name TEXT PRIMARY KEY, generation INTEGER NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX gone_by_seq ON gone (seq);
   CREATE TABLE history (
     id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
   );
   CREATE TABLE sequence (only INTEGER PRIMARY KEY CHECK (only = 1), value INTEGER NOT NULL);
   INSERT INTO sequence VALUES (1, 0);`,
];
