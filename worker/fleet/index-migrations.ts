// Lists the migrations of the fleet index.
import type { Migration } from "../storage/migrations.ts";
import { CATCH_UPS_MIGRATION } from "./catch-ups.ts";
import { DIAGNOSES_MIGRATION } from "./diagnoses.ts";
import { FEED_LEFT_MIGRATION, FEED_MIGRATION } from "./feed-source.ts";
import { METRICS_MIGRATION } from "./fleet-metrics.ts";
import { HISTORY_TOKENS_MIGRATION, REASON_WORDS_MIGRATION, RULE_MATCHES_MIGRATION } from "./machine-rows.ts";
import { NOTIFICATIONS_MIGRATION } from "./notifications.ts";
import { OUTAGES_MIGRATION } from "./outages.ts";
import { LAST_DELIVERIES_MIGRATION } from "./receivers.ts";
import { ROLLOUTS_MIGRATION } from "./rollouts.ts";
import { SHARES_MIGRATION } from "./shares.ts";

/** The migrations of the fleet index. Append only: existing objects have run the earlier entries. */
export const INDEX_MIGRATIONS: readonly Migration[] = [
  // `summaries` is separate, so that a search does not read it. With rowids, a row up to a page's size stays in a page.
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
  // An older Worker ignores the tables of this migration, so that Worker can still use the storage.
  { sql: ROLLOUTS_MIGRATION, usableFrom: 6 },
  // An older Worker inserts lines of history without the join token.
  { sql: HISTORY_TOKENS_MIGRATION, usableFrom: 6 },
  { sql: SHARES_MIGRATION, usableFrom: 6 },
  { sql: LAST_DELIVERIES_MIGRATION, usableFrom: 6 },
  { sql: CATCH_UPS_MIGRATION, usableFrom: 6 },
  { sql: REASON_WORDS_MIGRATION, usableFrom: 6 },
  { sql: FEED_LEFT_MIGRATION, usableFrom: 6 },
  { sql: DIAGNOSES_MIGRATION, usableFrom: 6 },
  { sql: RULE_MATCHES_MIGRATION, usableFrom: 6 },
];
