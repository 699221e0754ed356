// Tests the pages of a table in a backup: rows and bytes of each page, at the limits and just over them.
import { expect, it } from "vitest";
import type { BackupCell } from "../../../shared/protocol/backup.ts";
import { BACKUP_LIMITS } from "../../../shared/protocol/limits.ts";
import { readTable } from "../../../worker/registry/imports.ts";
import { withinRegistry } from "../support/registry-storage.ts";

const { pageBytes, rowsOfPage } = BACKUP_LIMITS;
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
