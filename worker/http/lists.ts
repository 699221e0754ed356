// Answers lists as CSV or JSON lines, page by page: a list of any length takes one page of memory. Makes cursors.
import type { Context } from "hono";
import { base64url } from "jose";
import type * as z from "zod/mini";
import { csvCell } from "../../shared/csv-cell.ts";
import { PAGE_LIMITS } from "../../shared/protocol/limits.ts";
import type { ListFormat } from "../../shared/protocol/parameters.ts";
import type { RowsPage } from "../storage/query.ts";
import type { App } from "./responses.ts";

/** A CSV column: its name, and a function that returns the column's value in a row. */
export type Column<Row> = readonly [name: string, value: (row: Row) => unknown];

const TYPES: Record<Exclude<ListFormat, "json">, string> = {
  csv: "text/csv; charset=utf-8; header=present",
  ndjson: "application/x-ndjson",
};

/** Returns the format that the query requests, or else the format in the header Accept. */
export function formatOf(c: Context<App>, asked: ListFormat | undefined): ListFormat {
  const accept = c.req.header("accept") ?? "";
  if (asked) return asked;
  if (accept.includes("text/csv")) return "csv";
  return accept.includes("application/x-ndjson") ? "ndjson" : "json";
}

/** Answers a list as CSV or JSON lines. Reads the first page first: an early failure becomes a problem document. */
export async function inLines<Row extends object>(
  format: Exclude<ListFormat, "json">,
  columns: readonly Column<Row>[],
  pages: AsyncGenerator<readonly Row[], void>,
  headers: Record<string, string>,
): Promise<Response> {
  const lineOf = (row: Row) =>
    format === "csv" ? csvLine(columns.map(([, value]) => value(row))) : `${JSON.stringify(row)}\n`;
  const head = format === "csv" ? csvLine(columns.map(([name]) => name)) : "";
  let page = await pages.next();
  let text = head;
  const body = new ReadableStream<Uint8Array>({
    async pull(stream) {
      if (page.done) {
        stream.enqueue(new TextEncoder().encode(text));
        return stream.close();
      }
      stream.enqueue(new TextEncoder().encode(text + page.value.map(lineOf).join("")));
      text = "";
      page = await pages.next();
    },
    async cancel() {
      await pages.return();
    },
  });
  return new Response(body, { headers: { ...headers, "content-type": TYPES[format] } });
}

/** The part of a list of entries to read: at most `limit` entries with an ID below `before`. */
export interface PageOfEntries {
  before?: number | undefined;
  limit: number;
}

/** The most rows that one call to an object returns for a list in lines: far below the limit of an RPC value. */
export const ROWS_AT_ONCE = 5000;

/** A page of a list. `body`: the JSON answer. `next`: where the next page begins; null on the last page. */
interface ListPage<Row, Place> {
  rows: readonly Row[];
  body: object;
  next: Place | null;
}

/** Answers a list in pages. As JSON the answer is the first page; as CSV or JSON lines, all pages or `limit` rows. */
export async function pagedList<Row extends object, Place>(
  c: Context<App>,
  asked: { format?: ListFormat | undefined; limit?: number | undefined },
  columns: readonly (keyof Row & string)[],
  read: (limit: number, from?: Place) => Promise<ListPage<Row, Place>>,
): Promise<Response> {
  const format = formatOf(c, asked.format);
  const limit = asked.limit ?? (format === "json" ? PAGE_LIMITS.entriesByDefault : ROWS_AT_ONCE);
  const first = await read(limit);
  if (format === "json") return c.json(first.body, 200, VARIES);
  const isWhole = asked.limit === undefined;
  async function* pages() {
    for (let page = first; ; page = await read(limit, page.next)) {
      yield page.rows;
      if (page.next === null || !isWhole) return;
    }
  }
  return inLines(format, namedColumns(columns), pages(), VARIES);
}

/** Answers a list of entries with IDs, newest first. A page may be shorter than requested; the last page is empty. */
export function entryList<Entry extends { id: number }>(
  c: Context<App>,
  query: { format?: ListFormat | undefined; limit?: number | undefined; before?: number | undefined },
  columns: readonly (keyof Entry & string)[],
  read: (page: PageOfEntries) => Promise<Entry[]>,
): Promise<Response> {
  return pagedList<Entry, number>(c, query, columns, async (limit, before = query.before) => {
    const entries = await read({ before, limit });
    return { rows: entries, body: { entries }, next: entries.at(-1)?.id ?? null };
  });
}

/** Answers a list whose next page begins after the last row of a page. `field`: the rows' field in the JSON answer. */
export function rowList<Row extends object>(
  c: Context<App>,
  query: { format?: ListFormat | undefined; limit?: number | undefined; after?: string | undefined },
  columns: readonly (keyof Row & string)[],
  field: string,
  read: (page: RowsPage) => Promise<Row[]>,
  keyOf: (last: Row) => string,
): Promise<Response> {
  return pagedList<Row, string>(c, query, columns, async (limit, after = query.after) => {
    const rows = await read({ after, limit });
    const last = rows.length === limit ? rows.at(-1) : undefined;
    const next = last ? keyOf(last) : null;
    return { rows, body: { [field]: rows, next }, next };
  });
}

const VARIES = { vary: "accept" };

const namedColumns = <Row extends object>(names: readonly (keyof Row & string)[]) =>
  names.map((name): Column<Row> => [name, (row) => row[name]]);

/** Returns the values as the text of a cursor, which readCursor parses. */
export const cursorOfValues = (values: readonly unknown[]) => base64url.encode(JSON.stringify(values));

/** Parses a cursor. Returns null if the text is not a cursor of this schema. */
export function readCursor<T>(schema: z.ZodMiniType<T>, cursor: string): T | null {
  try {
    return schema.safeParse(JSON.parse(new TextDecoder().decode(base64url.decode(cursor)))).data ?? null;
  } catch {
    return null;
  }
}

/** Formats one CSV line (RFC 4180). */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map((value) => csvCell(textOf(value))).join(",")}\r\n`;
}

/** Formats a value for one cell. Pairs and lists become texts such as `a=1,b=2`. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map((each) => textOf(each)).join(",");
  if (typeof value !== "object") return typeof value === "string" ? value : JSON.stringify(value);
  return Object.entries(value)
    .map(([key, each]) => `${key}=${textOf(each)}`)
    .join(",");
}
