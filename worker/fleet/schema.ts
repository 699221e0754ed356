// The tables of the fleet index, which storage/migrations.ts makes.
import type { Migration } from "../storage/migrations.ts";
import { FEED_MIGRATION } from "./feed-source.ts";
import { METRICS_MIGRATION } from "./fleet-metrics.ts";
import { OUTAGES_MIGRATION } from "./outages.ts";
import { NOTIFICATIONS_MIGRATION } from "./notifications.ts";
import { ROLLOUTS_MIGRATION } from "./rollouts.ts";

/** Add to them, and never change one: existing objects have run them. */
export const INDEX_MIGRATIONS: readonly Migration[] = [
  // What machines are found by is apart from what is shown of them: a search reads the first two tables alone. A row of up
  // to a page's size stays in one page where there are rowids, and in a quarter of one where there are not; an update
  // writes one row either way.
  `CREATE TABLE machines (
     name TEXT PRIMARY KEY, generation INTEGER NOT NULL, version INTEGER NOT NULL, entry_id INTEGER NOT NULL,
     seq INTEGER NOT NULL, state TEXT NOT NULL, since_ms INTEGER NOT NULL, phase TEXT NOT NULL,
     shim_version TEXT NOT NULL, version_key TEXT NOT NULL, address TEXT NOT NULL, address_key TEXT NOT NULL,
     token TEXT NOT NULL, is_unused INTEGER NOT NULL, own_label TEXT NOT NULL, own_words TEXT NOT NULL,
     label_set INTEGER NOT NULL, condition_set INTEGER NOT NULL, word_set INTEGER NOT NULL
   );
   CREATE INDEX machines_by_seq ON machines (seq);
   CREATE TABLE sets (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
   INSERT INTO sets VALUES (0, '');
   CREATE TABLE summaries (name TEXT PRIMARY KEY, summary TEXT NOT NULL);
   CREATE TABLE gone (name TEXT PRIMARY KEY, generation INTEGER NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX gone_by_seq ON gone (seq);
   CREATE TABLE history (
     id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
   );
   CREATE TABLE sequence (only INTEGER PRIMARY KEY CHECK (only = 1), value INTEGER NOT NULL, counts TEXT NOT NULL);
   INSERT INTO sequence VALUES (1, 0, '{}');`,
  METRICS_MIGRATION,
  OUTAGES_MIGRATION,
  FEED_MIGRATION,
  NOTIFICATIONS_MIGRATION,
  `CREATE TABLE index_upkeep (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE index_log (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, text TEXT NOT NULL);`,
  // Tables that nothing else reads: the Worker before goes on beside them.
  { sql: ROLLOUTS_MIGRATION, usableFrom: 6 },
];
