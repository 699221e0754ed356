// What an object has run of its migrations, and what it runs when it wakes up.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { migrate } from "../../../worker/storage/migrations.ts";

const MAKE = "CREATE TABLE notes (text TEXT NOT NULL)";
const note = (text: string) => `INSERT INTO notes VALUES ('${text}')`;
const BROKEN = `${note("half")}; INSERT INTO nowhere VALUES (1)`;

/** The notes of an object that woke up with each of these lists in turn; one that fails ends the list. */
function notesAfter(name: string, wakings: string[][]): Promise<string[]> {
  return runInDurableObject(env.REGISTRY.getByName(`migrations ${name}`), (_, { storage }) => {
    storage.sql.exec("DROP TABLE IF EXISTS migrations");
    for (const migrations of wakings) {
      try {
        migrate(storage, migrations);
      } catch {
        // The object wakes up again.
      }
    }
    const rows = storage.sql.exec<{ text: string }>("SELECT text FROM notes ORDER BY rowid");
    return rows.toArray().map(({ text }) => text);
  });
}

describe("an object that wakes up", () => {
  it.each<[string, string[][], string[]]>([
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
