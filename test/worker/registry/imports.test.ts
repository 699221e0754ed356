// Tests the pages of a table in a backup: rows and bytes of each page, at the limits and just over them. Also tests an
// import whose deployment changes while the fleet index stores its part.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { BACKUP_TABLES, type BackupCell, type BackupPage } from "../../../shared/protocol/backup.ts";
import { BACKUP_LIMITS } from "../../../shared/protocol/limits.ts";
import { success } from "../../../shared/result.ts";
import type { Environment } from "../../../worker/env.ts";
import { columnsOf } from "../../../worker/registry/backup-rows.ts";
import { Imports, readTable } from "../../../worker/registry/imports.ts";
import { countPinned, pin } from "../../../worker/registry/pins.ts";
import { asking, withinRegistry } from "../support/registry-storage.ts";

const { machineEntries, pageBytes, rowsOfPage } = BACKUP_LIMITS;
const bytesOf = (detail: string) => JSON.stringify([1, 1, "who", "what", "target", detail]).length;
/** Returns a detail that makes the audit log's row `bytes` long, if the row's ID has one digit. */
const detailOf = (bytes: number) => "x".repeat(bytes - bytesOf(""));

/** Returns the number of rows of each page, for an audit log with these details. */
const pagesOf = (situation: string, details: readonly string[]) =>
  withinRegistry(`backup ${situation}`, (sql) => {
    for (const [index, detail] of details.entries())
      sql.exec("INSERT INTO audit VALUES (?, 1, 'who', 'what', 'target', ?)", index + 1, detail);
    const pages: number[] = [];
    let after: BackupCell[] | null = null;
    do {
      const { rows, next }: ReturnType<typeof readTable> = readTable(sql, "audit", after);
      pages.push(rows.rows.length);
      after = next;
    } while (after !== null);
    return pages;
  });

it.each<[situation: string, details: string[], pages: number[]]>([
  ["no rows → one page without rows", [], [0]],
  ["as many rows as a page may have → one page", Array.from({ length: rowsOfPage }, () => ""), [rowsOfPage]],
  ["one row more → another page", Array.from({ length: rowsOfPage + 1 }, () => ""), [rowsOfPage, 1]],
  ["rows that are just shorter than a page → one page", [100, pageBytes - 101].map(detailOf), [2]],
  ["rows that are as long as a page → another page", [100, pageBytes - 100].map(detailOf), [1, 1]],
  [
    "a row that is longer than a page → a page of its own",
    [100, 2 * pageBytes, 100].map(detailOf),
    [1, 1, 1],
  ],
  ["the first row is longer than a page → a page of its own", [2 * pageBytes, 100].map(detailOf), [1, 1]],
])("%s", async (situation, details, pages) => {
  expect(await pagesOf(situation, details)).toEqual(pages);
});

it.each([
  ["as many entries as a backup has of the machine log → all", machineEntries, [1, machineEntries]],
  ["one entry more → without the oldest", machineEntries + 1, [machineEntries + 1]],
])("%s", async (_, newest, ids) => {
  const found = await withinRegistry(`backup of the machine log up to ${newest}`, (sql) => {
    const insert = "INSERT INTO machine_log VALUES (?, 1, 'who', 'what', 'target', '')";
    for (const id of [1, newest]) sql.exec(insert, id);
    const { columns, rows } = readTable(sql, "machine_log", null).rows;
    return rows.map((row) => row[columns.indexOf("id")]);
  });
  expect(found).toEqual(ids);
});

/** Returns the pages of a backup that has no rows but the statement of its tables. */
const emptyPages = (id: string): BackupPage[] =>
  BACKUP_TABLES.map((table, index) => ({
    rollcallBackup: 1,
    id,
    page: index + 1,
    isLast: index === BACKUP_TABLES.length - 1,
    at: "2026-01-01T00:00:00.000Z",
    deployment: "rollcall",
    table,
    columns: columnsOf(table),
    rows: index === 0 ? BACKUP_TABLES.map((each) => ["table", each, ""]) : [],
    mac: "",
  }));

/** Runs `work` with an import over an empty registry. `takes`: what the fleet index does with its part. */
const withImports = <T>(
  name: string,
  takes: (sql: SqlStorage, imports: Imports) => unknown,
  work: (imports: Imports, sql: SqlStorage) => Promise<T>,
) =>
  runInDurableObject(env.REGISTRY.getByName(`import ${name}`), async (_, { storage }) => {
    const takeBackupRows = () => Promise.resolve((takes(storage.sql, imports), success(null)));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an import uses only this method of the fleet index
    const index = { getByName: () => ({ takeBackupRows }) } as unknown as Environment["INDEX"];
    const imports = new Imports(storage, { ...env, INDEX: index });
    return work(imports, storage.sql);
  });

it("a page that is left out → the next one is refused with the number of the missing one", () =>
  withImports(
    "gap",
    () => undefined,
    async (imports) => {
      const [first, , third] = emptyPages("b-1");
      await imports.take(first!, "alice");
      expect(await imports.take(third!, "alice")).toEqual({ ok: false, error: "page 2 comes next, not 3" });
    },
  ));

it("a page without columns → refused at once, and the import continues with the right page", () =>
  withImports(
    "without columns",
    () => undefined,
    async (imports) => {
      const [first, second] = emptyPages("b-1");
      await imports.take(first!, "alice");
      expect(await imports.take({ ...second!, columns: [] }, "alice")).toEqual({
        ok: false,
        error: "page 2, pins has no columns: use a whole, unchanged file of rollcall export",
      });
      expect(await imports.take(second!, "alice")).toMatchObject({ value: { import: { nextPage: 3 } } });
    },
  ));

it("a backup without rows → imported, the state has its progress, and another backup may follow", () =>
  withImports(
    "without rows",
    () => undefined,
    async (imports) => {
      for (const page of emptyPages("b-1")) expect((await imports.take(page, "alice")).ok).toBe(true);
      expect(imports.state()).toMatchObject({
        import: { id: "b-1", isDone: true, who: "alice", machines: 0, back: 0, notBack: [] },
      });
      // No machine is enrolled, so that another backup may follow.
      for (const page of emptyPages("b-2")) expect((await imports.take(page, "bob")).ok).toBe(true);
      expect(imports.state()).toMatchObject({ import: { id: "b-2", isDone: true, who: "bob" } });
    },
  ));

it.each<[situation: string, meanwhile: (sql: SqlStorage, imports: Imports) => unknown, machines: number]>([
  ["a machine enrols", (sql) => pin(sql, asking("key-a"), 1), 1],
  ["another request abandons the import", (_, imports) => imports.abandon("bob"), 0],
])(
  "%s while the fleet index stores its part → the import is refused, and changes no table",
  (situation, meanwhile, machines) =>
    withImports(situation, meanwhile, async (imports, sql) => {
      const pages = emptyPages("b-1");
      for (const page of pages.slice(0, -1))
        expect(await imports.take(page, "alice")).toMatchObject({ ok: true });
      expect(await imports.take(pages.at(-1)!, "alice")).toEqual({
        ok: false,
        error: "this has changed meanwhile",
      });
      expect(imports.state().import?.isDone ?? false).toBe(false);
      const what = "SELECT what FROM audit WHERE what = 'backup.import'";
      expect([countPinned(sql), sql.exec(what).toArray()]).toEqual([machines, []]);
    }),
);
