// Tests lists as CSV and JSON lines: how each value is written, and how a list is sent page by page.
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { describe, expect, it } from "vitest";
import { PAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import {
  csvLine,
  entryList,
  inLines,
  pagedList,
  type PageOfEntries,
  ROWS_AT_ONCE,
  rowList,
} from "../../../worker/http/lists.ts";
import type { App } from "../../../worker/http/responses.ts";
import type { RowsPage } from "../../../worker/storage/query.ts";

describe("a line of CSV", () => {
  it.each<[string, unknown[], string]>([
    ["texts and numbers", ["a", 1, -2.5, true], "a,1,-2.5,true"],
    ["nothing", [null, undefined, ""], ",,"],
    ["commas, quotes and line breaks", ["a,b", 'a"b', "a\nb", "a\rb"], '"a,b","a""b","a\nb","a\rb"'],
    ["a list and pairs", [["a", "b"], { site: "x", tier: "" }], '"a,b","site=x,tier="'],
    ["what would be a formula", ["=1+1", "+1", "-a", "@x", "\tx", "＝x"], "'=1+1,'+1,'-a,'@x,'\tx,'＝x"],
    ["a negative number as a text", ["-12", "-1.5"], "-12,-1.5"],
  ])("of %s", (_, values, line) => {
    expect(csvLine(values)).toBe(`${line}\r\n`);
  });
});

const textOf = (bytes: ArrayBuffer) => new TextDecoder().decode(bytes);
const COLUMNS = [["n", ({ n }: { n: number }) => n]] as const;

async function* pagesOf(...pages: { n: number }[][]): AsyncGenerator<{ n: number }[], void> {
  yield* pages;
}

it.each([
  ["csv", [[{ n: 1 }, { n: 2 }], [], [{ n: 3 }]], "n\r\n1\r\n2\r\n3\r\n"],
  ["csv", [], "n\r\n"],
  ["ndjson", [[{ n: 1 }], [{ n: 2 }]], '{"n":1}\n{"n":2}\n'],
  ["ndjson", [], ""],
] as const)("%s of pages %j", async (format, pages, text) => {
  const response = await inLines(format, COLUMNS, pagesOf(...pages.map((page) => [...page])), {});
  expect(textOf(await response.arrayBuffer())).toBe(text);
});

it("a page fails → the answer is cut off, so that it does not look complete", async () => {
  async function* broken(): AsyncGenerator<{ n: number }[], void> {
    yield [{ n: 1 }];
    throw new Error("gone");
  }
  const response = await inLines("ndjson", COLUMNS, broken(), {});
  await expect(response.arrayBuffer()).rejects.toThrow("gone");
});

it("the client leaves → no further page is read", async () => {
  let asked = 0;
  async function* endless(): AsyncGenerator<{ n: number }[], void> {
    for (;;) yield [{ n: asked++ }];
  }
  const response = await inLines("ndjson", COLUMNS, endless(), {});
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  expect(asked).toBeLessThan(5);
});

it.each<[situation: string, asked: Parameters<typeof pagedList>[1], limits: number[]]>([
  ["as JSON → the first page", {}, [PAGE_LIMITS.entriesByDefault]],
  ["as JSON, with a limit → that page", { limit: 7 }, [7]],
  ["as CSV → all pages", { format: "csv" }, [ROWS_AT_ONCE, ROWS_AT_ONCE]],
  ["as JSON lines, with a limit → that page", { format: "ndjson", limit: 7 }, [7]],
])("a list of two pages, %s", async (_, asked, limits) => {
  const read: number[] = [];
  const app = new Hono<App>().get("/", (c) =>
    pagedList<{ n: number }, number>(c, asked, ["n"], (limit, from = 1) => {
      read.push(limit);
      return Promise.resolve({ rows: [{ n: from }], body: {}, next: from < 2 ? from + 1 : null });
    }),
  );
  await (await app.request("/")).arrayBuffer();
  expect(read).toEqual(limits);
});

describe("a list of three pages as CSV → each row once, and no row twice", () => {
  const ROWS = [5, 4, 3, 2, 1].map((id) => ({ id }));
  const csvOf = async (list: (c: Context<App>) => Promise<Response>) =>
    textOf(await (await new Hono<App>().get("/", list).request("/")).arrayBuffer());

  it("of entries", async () => {
    const read = ({ before = 6 }: PageOfEntries) =>
      Promise.resolve(ROWS.filter(({ id }) => id < before).slice(0, 2));
    expect(await csvOf((c) => entryList(c, { format: "csv" }, ["id"], read))).toBe(
      "id\r\n5\r\n4\r\n3\r\n2\r\n1\r\n",
    );
  });

  it("of rows", async () => {
    const all = Array.from({ length: 2 * ROWS_AT_ONCE + 1 }, (_, n) => ({ n }));
    const read = ({ after = "-1", limit }: RowsPage) =>
      Promise.resolve(all.slice(Number(after) + 1).slice(0, limit));
    const csv = await csvOf((c) =>
      rowList<{ n: number }>(c, { format: "csv" }, ["n"], "rows", read, ({ n }) => String(n)),
    );
    expect(csv.split("\r\n").length).toBe(all.length + 2);
  });
});
