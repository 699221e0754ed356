// Reads the SQL rows of a stopped Worker's objects, and runs SQL in each of them.
import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const databases = (objects: string) =>
  globSync("rollcall-*/*.sqlite", { cwd: objects })
    .filter((file) => !file.endsWith("metadata.sqlite"))
    .map((file) => join(objects, file));

/** Runs the statement in each object that has stored data. Returns the number of these objects. */
export function inEach(objects: string, statement: string): number {
  let count = 0;
  for (const file of databases(objects)) {
    const database = new DatabaseSync(file);
    const made = "SELECT COUNT(*) AS count FROM sqlite_master WHERE name = 'migrations'";
    if (database.prepare(made).get()?.["count"] === 1) {
      database.exec(statement);
      count++;
    }
    database.close();
  }
  return count;
}

/** Returns the rows of all tables whose names match, without the platform's own tables, such as the alarm's. */
export function dump(objects: string, tables: RegExp = /^/): string[] {
  return databases(objects).flatMap((file) => {
    const database = new DatabaseSync(file);
    const made = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const names = made.map(({ name }) => String(name)).filter((name) => !name.startsWith("_cf_"));
    const chosen = names.filter((name) => tables.test(name));
    const rows = chosen.map((name) =>
      JSON.stringify([name, database.prepare(`SELECT * FROM ${name}`).all()]),
    );
    database.close();
    return rows;
  });
}
