// Migrates a Durable Object's SQLite, and refuses state that a later version of the Worker has stored. The version of the
// state is the number of migrations that have run; this file's own tables store it.
import { DurableObject } from "cloudflare:workers";
import { currentMs } from "../clock.ts";
import type { Environment } from "../env.ts";

/**
 * SQL that never changes: existing objects have run it. An earlier Worker without the migration refuses the migrated state,
 * unless it has at least `usableFrom` migrations, which tests prove.
 */
export type Migration = string | { sql: string; usableFrom: number };

/** Prefix of the error that each call to an object with newer state gets. Callers recognize the error by it. */
const NEWER_STATE = "newer-state";

/** Thrown by an object's constructor: this Worker must not change the state. */
export class NewerStateError extends Error {
  constructor(stored: number, known: number) {
    super(`${NEWER_STATE}: the stored state is of version ${stored}, and this Worker knows version ${known}`);
  }
}

/** Returns whether an object refused a call because its state is newer. Across objects only the message is kept. */
export const isNewerState = (error: unknown): boolean =>
  error instanceof Error && error.message.includes(NEWER_STATE);

type Storage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

/**
 * Runs the missing migrations in order, each in a transaction. Throws a NewerStateError, before any write, if the state is
 * newer. `earlier`: how many an object had run before there was a table of migrations.
 */
export function migrate(
  storage: Storage,
  migrations: readonly Migration[],
  earlier: (sql: SqlStorage) => number = () => 0,
): void {
  const { sql } = storage;
  const known = migrations.length;
  const stored = stateVersion(sql) ?? begin(storage, earlier(sql));
  if (stored > known && !isUsable(sql, stored, known)) throw new NewerStateError(stored, known);
  for (const [id, migration] of migrations.entries()) {
    if (id >= stored) storage.transactionSync(() => run(sql, id, migration));
  }
}

/** Returns null if the object has no table of migrations. */
export function stateVersion(sql: SqlStorage): number | null {
  try {
    return sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM migrations").one().count;
  } catch (error) {
    // Only new objects throw. A check before would cost each object a second statement each time it wakes.
    if (error instanceof Error && error.message.includes("no such table")) return null;
    throw error;
  }
}

function begin(storage: Storage, earlier: number): number {
  const { sql } = storage;
  storage.transactionSync(() => {
    sql.exec("CREATE TABLE migrations (id INTEGER PRIMARY KEY)");
    for (let id = 0; id < earlier; id++) sql.exec("INSERT INTO migrations VALUES (?)", id);
  });
  return earlier;
}

function run(sql: SqlStorage, id: number, migration: Migration): void {
  const { sql: text, usableFrom } =
    typeof migration === "string" ? { sql: migration, usableFrom: null } : migration;
  sql.exec(text);
  sql.exec("INSERT INTO migrations VALUES (?)", id);
  if (usableFrom === null) return;
  // A table of its own: earlier versions insert rows of one column into the other.
  sql.exec(
    "CREATE TABLE IF NOT EXISTS usable_migrations (id INTEGER PRIMARY KEY, usable_from INTEGER NOT NULL)",
  );
  sql.exec("INSERT INTO usable_migrations VALUES (?, ?)", id, usableFrom);
}

/** Returns whether each migration that this Worker does not have is usable by it. */
function isUsable(sql: SqlStorage, stored: number, known: number): boolean {
  const [made] = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'usable_migrations'").toArray();
  if (!made) return false;
  const usable = "SELECT COUNT(*) AS count FROM usable_migrations WHERE id >= ?1 AND usable_from <= ?1";
  return sql.exec<{ count: number }>(usable, known).one().count === stored - known;
}

/** A Durable Object whose stored state has a version. */
export abstract class StoredObject extends DurableObject<Environment> {
  /** Returns the version for GET /readyz; null if nothing is stored. */
  stateVersion(): number | null {
    return stateVersion(this.ctx.storage.sql);
  }
}

/** Next alarm of an object that refuses calls. The platform would drop an alarm that fails some times. */
const AGAIN_MS = 60_000;
/** RFC 6455's 1012, Service Restart: machines then report by HTTP, and pages reconnect. */
const RESTART = 1012;

type ObjectClass = new (ctx: DurableObjectState, env: Environment) => StoredObject;

/**
 * Returns the class, except that an object whose state is newer refuses every call. It writes nothing but its next alarm,
 * so that the later version of the Worker can continue.
 */
export function refusingNewer<Class extends ObjectClass>(of: Class): Class {
  return new Proxy(of, {
    construct(target, args: ConstructorParameters<ObjectClass>, newTarget) {
      try {
        return Reflect.construct(target, args, newTarget) as InstanceType<Class>;
      } catch (error) {
        if (error instanceof NewerStateError) return standIn(of, args[0].storage, error);
        throw error;
      }
    },
  });
}

function standIn(of: ObjectClass, storage: DurableObjectStorage, error: NewerStateError): object {
  const methods: Record<string, unknown> = {};
  const refuse = () => {
    throw error;
  };
  for (const { prototype } of [StoredObject, of])
    for (const name of Object.getOwnPropertyNames(prototype)) methods[name] = refuse;
  Object.assign(methods, {
    alarm: () => storage.setAlarm(currentMs() + AGAIN_MS),
    webSocketMessage: (socket: WebSocket) => socket.close(RESTART),
    webSocketClose: () => undefined,
    webSocketError: () => undefined,
  });
  // RPC reaches only methods of the prototype.
  return Object.create(Object.setPrototypeOf(methods, DurableObject.prototype) as object) as object;
}
