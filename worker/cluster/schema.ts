// The tables of the cluster's object, which storage/migrations.ts makes.

/** Add to them, and never change one: existing objects have run them. */
export const CLUSTER_MIGRATIONS: readonly string[] = [
  `CREATE TABLE token_chains (
     chain TEXT PRIMARY KEY, written_at_ms INTEGER NOT NULL, sealed_token TEXT, failure TEXT
   ) WITHOUT ROWID;`,
];
