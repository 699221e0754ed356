// Migrates a Durable Object's SQLite, and refuses state that a later version of the Worker has stored. The version of the
// state is the number of migrations that have run; this file's own tables store it.
import { DurableObject } from "cloudflare:workers";
import { currentMs, oneTimer } from "../clock.ts";
import { type Environment, placed } from "../env.ts";
import { logFailure } from "../log.ts";

/**
 * The SQL of one migration. Existing objects have run it, so it never changes. `usableFrom`: the number of
 * migrations of the earliest Worker that can use the migrated state; other earlier Workers refuse the state. Tests
 * prove the number.
 */
export type Migration = string | { sql: string; usableFrom: number };

/** The prefix of the error of an object with newer state, by which callers recognize the error. */
const NEWER_STATE = "newer-state";

/** An object's constructor throws this error if a later Worker wrote the state, which this Worker must not change. */
export class NewerStateError extends Error {
  constructor(stored: number, known: number) {
    super(`${NEWER_STATE}: the stored state is of version ${stored}, and this Worker knows version ${known}`);
  }
}

/** Reports whether an object refused a call because its state is newer. Only the message reaches other objects. */
export const isNewerState = (error: unknown): boolean =>
  error instanceof Error && error.message.includes(NEWER_STATE);

type Storage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

/**
 * Runs the missing migrations in order, each in a transaction. Throws a NewerStateError before any write if the
 * state is newer. `earlier`: the number of migrations that an object had run before objects had a table of
 * migrations.
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

/** Returns the number of migrations that have run; null if the object has no table of migrations. */
export function stateVersion(sql: SqlStorage): number | null {
  try {
    return sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM migrations").one().count;
  } catch (error) {
    // Only a new object's query throws. A check in advance would cost each object a second statement at each wake.
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
  // `usableFrom` has a table of its own, since earlier versions insert rows of one column into `migrations`.
  sql.exec(
    "CREATE TABLE IF NOT EXISTS usable_migrations (id INTEGER PRIMARY KEY, usable_from INTEGER NOT NULL)",
  );
  sql.exec("INSERT INTO usable_migrations VALUES (?, ?)", id, usableFrom);
}

/** Reports whether this Worker can use the state: this Worker must be able to use each later migration's result. */
function isUsable(sql: SqlStorage, stored: number, known: number): boolean {
  const [made] = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'usable_migrations'").toArray();
  if (!made) return false;
  const usable = "SELECT COUNT(*) AS count FROM usable_migrations WHERE id >= ?1 AND usable_from <= ?1";
  return sql.exec<{ count: number }>(usable, known).one().count === stored - known;
}

/** A Durable Object whose stored state has a version. */
export abstract class StoredObject extends DurableObject<Environment> {
  /** Returns the version of the stored state, for GET /readyz; null if nothing is stored. */
  stateVersion(): number | null {
    return stateVersion(this.ctx.storage.sql);
  }
}

/** The time until a refusing object's next alarm. The platform would drop an alarm that fails several times. */
const AGAIN_MS = 60_000;
/** The close code Service Restart (RFC 6455, 1012): machines then report by HTTP, and pages reconnect. */
const RESTART = 1012;

/** The time by which a deadline of an object may be late. */
const LATEST_MS = 250;

type ObjectClass = new (ctx: DurableObjectState, env: Environment) => StoredObject;

/**
 * Returns a class whose objects have a timer and `shared` in their environment, and abort after a failed transaction.
 * They refuse every call if their state is newer, and then write only their next alarm.
 */
export function guarded<Class extends ObjectClass>(
  of: Class,
  shared: Pick<Environment, "knownCluster">,
): Class {
  return new Proxy(of, {
    construct(target, [ctx, env]: ConstructorParameters<ObjectClass>, newTarget) {
      abortAfterFailure(ctx);
      const own: Environment = Object.assign(Object.create(placed(env)), {
        ...shared,
        timer: oneTimer(LATEST_MS),
      });
      try {
        return Reflect.construct(target, [ctx, own], newTarget) as InstanceType<Class>;
      } catch (error) {
        if (error instanceof NewerStateError) return standIn(of, ctx.storage, error);
        throw error;
      }
    },
  });
}

/**
 * Makes a failed transaction end the object: it rolls back rows, but not the object's memory, which would stay ahead of
 * the rows. The next call wakes an object that reads the rows again.
 */
function abortAfterFailure(ctx: DurableObjectState): void {
  const { storage } = ctx;
  const run = storage.transactionSync.bind(storage);
  storage.transactionSync = (work) => {
    try {
      return run(work);
    } catch (error) {
      logFailure({ message: "a transaction failed", error: String(error) });
      ctx.abort(String(error));
      throw error;
    }
  };
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
  // RPC reaches only the methods of a prototype, so the methods become the prototype.
  return Object.create(Object.setPrototypeOf(methods, DurableObject.prototype) as object) as object;
}
