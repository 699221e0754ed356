// The tables of the cluster's object, which storage/migrations.ts makes.
import type { Migration } from "../storage/migrations.ts";

/** Add to them, and never change one: existing objects have run them. */
export const CLUSTER_MIGRATIONS: readonly Migration[] = [
  `CREATE TABLE token_chains (
     chain TEXT PRIMARY KEY, written_at_ms INTEGER NOT NULL, sealed_token TEXT, failure TEXT
   ) WITHOUT ROWID;`,
  `CREATE TABLE watched_nodes (name TEXT PRIMARY KEY, seen TEXT NOT NULL, told TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE history (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, text TEXT NOT NULL);`,
];
