// Tests which migrations count as run by an object, and which migrations the object runs after a wake-up.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import {
  type Migration,
  migrate,
  NewerStateError,
  stateVersion,
} from "../../../worker/storage/migrations.ts";

const MAKE = "CREATE TABLE notes (text TEXT NOT NULL)";
const note = (text: string) => `INSERT INTO notes VALUES ('${text}')`;
const BROKEN = `${note("half")}; INSERT INTO nowhere VALUES (1)`;

/**
 * Wakes an object with each of these lists of migrations in turn, and returns its notes. A failure ends the list.
 */
function notesAfter(name: string, wakings: Migration[][]): Promise<string[]> {
  return runInDurableObject(env.REGISTRY.getByName(`migrations ${name}`), (_, { storage }) => {
    // The object itself would end after a failed transaction.
    Reflect.deleteProperty(storage, "transactionSync");
    for (const table of ["migrations", "usable_migrations"])
      storage.sql.exec(`DROP TABLE IF EXISTS ${table}`);
    for (const migrations of wakings) {
      try {
        migrate(storage, migrations);
      } catch {
        // The migration failed, and the object wakes again with the next list.
      }
    }
    const rows = storage.sql.exec<{ text: string }>("SELECT text FROM notes ORDER BY rowid");
    return rows.toArray().map(({ text }) => text);
  });
}

describe("an object that wakes", () => {
  it.each<[string, Migration[][], string[]]>([
    ["for the first time → runs all, in order", [[MAKE, note("a"), note("b")]], ["a", "b"]],
    [
      "again → runs none twice",
      [
        [MAKE, note("a")],
        [MAKE, note("a")],
      ],
      ["a"],
    ],
    [
      "with one more → runs that one",
      [
        [MAKE, note("a")],
        [MAKE, note("a"), note("b")],
      ],
      ["a", "b"],
    ],
    ["with one that fails → none of that one, nor of what follows", [[MAKE, BROKEN, note("b")]], []],
    [
      "with one that is mended → goes on there",
      [
        [MAKE, BROKEN, note("b")],
        [MAKE, note("a"), note("b")],
      ],
      ["a", "b"],
    ],
  ])("%s", async (situation, wakings, expected) => {
    expect(await notesAfter(situation, wakings)).toEqual(expected);
  });
});

/** Returns a migration that adds a note, and that Workers with at least this number of migrations can use. */
const usable = (usableFrom: number, text = "usable"): Migration => ({ sql: note(text), usableFrom });

describe("state of a later version", () => {
  it.each<[string, later: Migration[], earlier: Migration[], refused: string | null]>([
    ["→ is refused", [MAKE, note("a")], [MAKE], "of version 2, and this Worker knows version 1"],
    [
      "two later → is refused",
      [MAKE, note("a"), note("b")],
      [MAKE],
      "of version 3, and this Worker knows version 1",
    ],
    ["with which this one can go on → is not", [MAKE, usable(1)], [MAKE], null],
    ["with which only a later one can go on → is refused", [MAKE, note("a"), usable(2)], [MAKE], "version 3"],
    ["with which this one can → is not", [MAKE, note("a"), usable(2)], [MAKE, note("a")], null],
    [
      "of which one migration is usable, and one is not → is refused",
      [MAKE, usable(1), note("a")],
      [MAKE],
      "version 3",
    ],
    ["of which two are usable → is not", [MAKE, usable(1), usable(1)], [MAKE], null],
  ])("%s", async (situation, later, earlier, refused) => {
    const found = await runInDurableObject(env.REGISTRY.getByName(`newer ${situation}`), (_, { storage }) => {
      storage.sql.exec("DROP TABLE IF EXISTS migrations");
      migrate(storage, later);
      const count = () => [...storage.sql.exec("SELECT COUNT(*) FROM notes").raw()];
      const before = [stateVersion(storage.sql), count()];
      let message: string | null = null;
      try {
        migrate(storage, earlier);
      } catch (error) {
        if (!(error instanceof NewerStateError)) throw error;
        ({ message } = error);
      }
      expect([stateVersion(storage.sql), count()]).toEqual(before);
      // The later version of the Worker runs again, with one migration more.
      migrate(storage, [...later, note("c")]);
      expect(stateVersion(storage.sql)).toBe(later.length + 1);
      return message;
    });
    if (refused === null) expect(found).toBeNull();
    else expect(found).toContain(refused);
  });
});

it("state from before the table of migrations → finished migrations are not repeated", async () => {
  const version = await runInDurableObject(env.REGISTRY.getByName("migrations earlier"), (_, { storage }) => {
    storage.sql.exec(`DROP TABLE IF EXISTS migrations; ${MAKE}`);
    migrate(storage, [MAKE, note("a")], () => 1);
    return stateVersion(storage.sql);
  });
  expect(version).toBe(2);
});
