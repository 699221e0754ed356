// Brings an object's SQLite up to date, and finds out that it is of a later version of the Worker. Its own tables have the
// migrations that have run; it depends on no other table. How many those are is the version of the state.
import { DurableObject } from "cloudflare:workers";
import { currentMs } from "../clock.ts";
import type { Environment } from "../env.ts";

/**
 * SQL, which is never changed: objects that exist have run it. By itself, no Worker that does not have it goes on with the
 * state that it leaves; `usableFrom`: those go on that have at least so many migrations, as tests show.
 */
export type Migration = string | { sql: string; usableFrom: number };

/** Begins the message of an error that each call to an object gets whose state is newer: from it, callers know. */
const NEWER_STATE = "newer-state";

/** Thrown by constructors, which can return nothing else: this Worker must not touch the state. */
export class NewerStateError extends Error {
  constructor(stored: number, known: number) {
    super(`${NEWER_STATE}: the stored state is of version ${stored}, and this Worker knows version ${known}`);
  }
}

/** Has an object refused because its state is newer? An error of another object arrives as a text. */
export const isNewerState = (error: unknown): boolean =>
  error instanceof Error && error.message.includes(NEWER_STATE);

type Storage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

/**
 * Runs what this object has not run yet, in order, each in a transaction; safe to repeat. `earlier`: how many the object has
 * run that has no table of them; a class that always had one needs none. Throws where the state is newer, and has written
 * nothing then.
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

/** null: none has run since there is a table of them. */
export function stateVersion(sql: SqlStorage): number | null {
  try {
    return sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM migrations").one().count;
  } catch (error) {
    // One statement says it of all objects but new ones: they are many, and wake often.
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
  // Beside the other table, to which earlier versions add rows of one column.
  sql.exec(
    "CREATE TABLE IF NOT EXISTS usable_migrations (id INTEGER PRIMARY KEY, usable_from INTEGER NOT NULL)",
  );
  sql.exec("INSERT INTO usable_migrations VALUES (?, ?)", id, usableFrom);
}

/** Does each migration that this Worker does not have leave what it can go on with? */
function isUsable(sql: SqlStorage, stored: number, known: number): boolean {
  const [made] = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'usable_migrations'").toArray();
  if (!made) return false;
  const usable = "SELECT COUNT(*) AS count FROM usable_migrations WHERE id >= ?1 AND usable_from <= ?1";
  return sql.exec<{ count: number }>(usable, known).one().count === stored - known;
}

// What every Durable Object of the Worker is: one whose stored state has a version.

export abstract class StoredObject extends DurableObject<Environment> {
  /** For GET /readyz: of what it has stored; null: nothing yet. */
  stateVersion(): number | null {
    return stateVersion(this.ctx.storage.sql);
  }
}

// What stands in for an object whose state is of a later version of the Worker: it refuses every call, writes nothing of its
// own, and keeps the alarm, so that the later version goes on where it stopped.

/** An alarm that fails is dropped after some tries; this one rings again, as late as a machine's silence may be noticed. */
const AGAIN_MS = 60_000;
/** RFC 6455's 1012, Service Restart: machines report by HTTP then, and pages ask again. */
const RESTART = 1012;

type ObjectClass = new (ctx: DurableObjectState, env: Environment) => StoredObject;

/** The same class: where its constructor throws a NewerStateError, something else stands in. */
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
  // Callers reach what a prototype has, and nothing that an object has of its own.
  return Object.create(Object.setPrototypeOf(methods, DurableObject.prototype) as object) as object;
}
