// Defines the registry's tables and migrations, which storage/migrations.ts runs.
import type { Migration } from "../storage/migrations.ts";
import { IMPORTS_MIGRATION } from "./imports.ts";
import { RULE_UNDOS_MIGRATION, RULES_MIGRATION } from "./rules.ts";

/** The migrations of the registry. Append only: existing registries have run the earlier entries. */
export const REGISTRY_MIGRATIONS: readonly Migration[] = [
  `CREATE TABLE IF NOT EXISTS tokens (
     id TEXT PRIMARY KEY, key TEXT NOT NULL, names TEXT NOT NULL, expires_at_ms INTEGER NOT NULL,
     uses INTEGER NOT NULL, used INTEGER NOT NULL, without_facts_only_taint INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS enrolments (
     token TEXT NOT NULL, name TEXT NOT NULL, thumbprint TEXT NOT NULL, admitted_at_ms INTEGER NOT NULL,
     PRIMARY KEY (token, name, thumbprint)
   ) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS tombstones (
     thumbprint TEXT NOT NULL, name TEXT NOT NULL, left_at_ms INTEGER NOT NULL, PRIMARY KEY (thumbprint, name)
   ) WITHOUT ROWID;`,
  // Moves the pins from machines' objects to the registry. Of several admitted keys, the first gets the name.
  `CREATE TABLE generation (only INTEGER PRIMARY KEY CHECK (only = 1), value INTEGER NOT NULL);
   INSERT INTO generation VALUES (1, 0);
   CREATE TABLE tokens_2 (
     id TEXT PRIMARY KEY, key TEXT NOT NULL, names TEXT NOT NULL, rejoin INTEGER NOT NULL, uses INTEGER NOT NULL,
     used INTEGER NOT NULL, allowed TEXT NOT NULL, created_at_ms INTEGER NOT NULL, created_by TEXT NOT NULL,
     expires_at_ms INTEGER NOT NULL, revoked_at_ms INTEGER
   ) WITHOUT ROWID;
   INSERT INTO tokens_2 SELECT id, key, names, 0, uses, used,
     iif(without_facts_only_taint, '{"withoutFactsOnlyTaint":true}', '{"withoutFactsOnlyTaint":false}'),
     0, 'unknown', expires_at_ms, NULL FROM tokens;
   DROP TABLE tokens;
   ALTER TABLE tokens_2 RENAME TO tokens;
   CREATE TABLE pins (
     name TEXT PRIMARY KEY, thumbprint TEXT NOT NULL, next_thumbprint TEXT, generation INTEGER NOT NULL,
     token TEXT NOT NULL, machine TEXT NOT NULL, pinned_at_ms INTEGER NOT NULL, reported_at_ms INTEGER,
     revoked_at_ms INTEGER
   ) WITHOUT ROWID;
   INSERT INTO pins SELECT name, thumbprint, NULL, 0, token,
     '{"key":"","machineID":"","systemUUID":"","address":""}', MIN(admitted_at_ms), MIN(admitted_at_ms),
     NULL FROM enrolments GROUP BY name;
   CREATE TABLE pending (
     token TEXT NOT NULL, name TEXT NOT NULL, thumbprint TEXT NOT NULL, machine TEXT NOT NULL,
     asked_at_ms INTEGER NOT NULL, PRIMARY KEY (name, token)
   ) WITHOUT ROWID;
   CREATE INDEX pending_by_token ON pending (token);
   CREATE INDEX tombstones_by_name ON tombstones (name);
   CREATE TABLE audit (
     id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, target TEXT NOT NULL,
     detail TEXT NOT NULL
   );`,
  `CREATE TABLE origin_uses (
     name TEXT NOT NULL, origin TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (name, origin)
   ) WITHOUT ROWID;`,
  // Moves the entries about machines from the audit log to a log of their own.
  `CREATE TABLE machine_log (
     id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, target TEXT NOT NULL,
     detail TEXT NOT NULL
   );
   CREATE INDEX machine_log_by_target ON machine_log (target);
   INSERT INTO machine_log SELECT * FROM audit WHERE who LIKE 'token %' OR who LIKE 'machine %';
   DELETE FROM audit WHERE who LIKE 'token %' OR who LIKE 'machine %';`,
  // Adds the index for changedAtMs. From now on, a key that lost its name because it never reported is refused.
  `DROP INDEX tombstones_by_name;
   CREATE INDEX tombstones_by_name_and_time ON tombstones (name, left_at_ms);
   INSERT OR IGNORE INTO tombstones SELECT thumbprint, name, MAX(admitted_at_ms) FROM enrolments
     WHERE (name, thumbprint) NOT IN (SELECT name, thumbprint FROM pins)
     AND (name, thumbprint) NOT IN (SELECT name, next_thumbprint FROM pins WHERE next_thumbprint IS NOT NULL)
     GROUP BY thumbprint, name;
   DELETE FROM enrolments WHERE (thumbprint, name) IN (SELECT thumbprint, name FROM tombstones);`,
  `CREATE TABLE refusal_log (
     id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, target TEXT NOT NULL,
     detail TEXT NOT NULL
   );`,
  `CREATE TABLE refusal_counts (
     cause TEXT PRIMARY KEY, count INTEGER NOT NULL, since_ms INTEGER NOT NULL
   ) WITHOUT ROWID;`,
  // Adds operators, the reason why a key is refused, and actions on many machines.
  `CREATE TABLE operators (
     name TEXT PRIMARY KEY, role TEXT NOT NULL, sha256 TEXT NOT NULL UNIQUE, created_at_ms INTEGER NOT NULL,
     created_by TEXT NOT NULL, expires_at_ms INTEGER NOT NULL, used_at_ms INTEGER, revoked_at_ms INTEGER
   ) WITHOUT ROWID;
   CREATE TABLE refused_changes (who TEXT PRIMARY KEY, day INTEGER NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID;
   ALTER TABLE tombstones ADD COLUMN why TEXT NOT NULL DEFAULT '';
   CREATE INDEX tombstones_by_time ON tombstones (left_at_ms, thumbprint);
   CREATE TABLE bulk_plans (
     confirmation TEXT PRIMARY KEY, request TEXT NOT NULL, action TEXT NOT NULL, who TEXT NOT NULL,
     machines TEXT NOT NULL, expires_at_ms INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE TABLE bulks (
     id INTEGER PRIMARY KEY AUTOINCREMENT, action TEXT NOT NULL, who TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
     total INTEGER NOT NULL, ended_at_ms INTEGER, is_stopped INTEGER NOT NULL
   );
   CREATE TABLE bulk_machines (
     bulk INTEGER NOT NULL, name TEXT NOT NULL, generation INTEGER NOT NULL, tries INTEGER NOT NULL,
     unpinned INTEGER, failure TEXT, PRIMARY KEY (bulk, name)
   ) WITHOUT ROWID;`,
  // Adds operators' sessions. Secrets and codes are stored as their SHA-256.
  `CREATE TABLE sessions (
     id TEXT PRIMARY KEY, who TEXT NOT NULL, role TEXT NOT NULL, secret TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
     expires_at_ms INTEGER NOT NULL, address TEXT NOT NULL, browser TEXT NOT NULL
   ) WITHOUT ROWID;
   CREATE TABLE session_codes (
     code TEXT PRIMARY KEY, who TEXT NOT NULL, role TEXT NOT NULL, secret TEXT NOT NULL, expires_at_ms INTEGER NOT NULL
   ) WITHOUT ROWID;`,
  // Adds the gateway of each machine. `is_full`: 1 if the gateway has refused a machine.
  `ALTER TABLE pins ADD COLUMN gateway INTEGER;
   CREATE TABLE gateways (number INTEGER PRIMARY KEY, members INTEGER NOT NULL, is_full INTEGER NOT NULL);`,
  // Adds the public key of next_thumbprint, so that a machine whose object was lost can continue with its next key.
  `ALTER TABLE pins ADD COLUMN next_key TEXT;`,
  IMPORTS_MIGRATION,
  // Adds the number of machines that each gateway can serve, as measured. Earlier versions insert rows of three columns
  // into `gateways`.
  {
    sql: "CREATE TABLE gateway_capacities (number INTEGER PRIMARY KEY, machines INTEGER NOT NULL);",
    usableFrom: 12,
  },
  { sql: RULES_MIGRATION, usableFrom: 12 },
  { sql: RULE_UNDOS_MIGRATION, usableFrom: 12 },
];
