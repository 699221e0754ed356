// Brings an object's SQLite up to date. Its own table has the migrations that have run; it depends on no other table.

/**
 * Runs what this object has not run yet, in order, each in a transaction; safe to repeat. A migration is SQL and is
 * never changed: objects that exist have run it.
 */
export function migrate(storage: DurableObjectStorage, migrations: readonly string[]): void {
  const { sql } = storage;
  sql.exec("CREATE TABLE IF NOT EXISTS migrations (id INTEGER PRIMARY KEY)");
  const done = sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM migrations").one().count;
  for (const [id, migration] of migrations.entries()) {
    if (id < done) continue;
    storage.transactionSync(() => {
      sql.exec(migration);
      sql.exec("INSERT INTO migrations VALUES (?)", id);
    });
  }
}
