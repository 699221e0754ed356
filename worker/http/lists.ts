// Lists as CSV or as JSON lines: page by page, so that a list of any length takes the memory of one page.
import type { Context } from "hono";
import { PAGE_LIMITS } from "../../shared/protocol/limits.ts";
import type { ListFormat } from "../../shared/protocol/parameters.ts";
import type { App } from "./responses.ts";

/** A column of CSV: its name, and what a row has there. */
export type Column<Row> = readonly [name: string, value: (row: Row) => unknown];

const TYPES: Record<Exclude<ListFormat, "json">, string> = {
  csv: "text/csv; charset=utf-8; header=present",
  ndjson: "application/x-ndjson",
};

/** What the query asks for, else what the header Accept does. */
export function formatOf(c: Context<App>, asked: ListFormat | undefined): ListFormat {
  const accept = c.req.header("accept") ?? "";
  if (asked) return asked;
  if (accept.includes("text/csv")) return "csv";
  return accept.includes("application/x-ndjson") ? "ndjson" : "json";
}

/** The first page is there before anything is answered: what fails until then is a problem document. */
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
        if (text !== "") stream.enqueue(new TextEncoder().encode(text));
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

/** Which entries of a list come next. */
export interface PageOfEntries {
  before?: number | undefined;
  limit: number;
}

/** Of a list in lines: as few calls as can be, and far below what an RPC value may have. */
export const ROWS_AT_ONCE = 5000;

/** One page of a list, what it is as JSON, and where the next one begins; null: there is none. */
interface ListPage<Row, Place> {
  rows: readonly Row[];
  body: object;
  next: Place | null;
}

/** A list in pages: as JSON the first one, in lines all of them, or as much as it is asked for. */
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

/** A list of entries with IDs, newest first. A page may end early, and the last one is empty. */
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

/** A list that is one page, under its name in JSON. */
export function wholeList<Row extends object>(
  c: Context<App>,
  asked: ListFormat | undefined,
  name: string,
  rows: Row[],
  columns: readonly (keyof Row & string)[],
): Response | Promise<Response> {
  const format = formatOf(c, asked);
  async function* pages() {
    yield rows;
  }
  return format === "json"
    ? c.json({ [name]: rows }, 200, VARIES)
    : inLines(format, namedColumns(columns), pages(), VARIES);
}

const VARIES = { vary: "accept" };

const namedColumns = <Row extends object>(names: readonly (keyof Row & string)[]) =>
  names.map((name): Column<Row> => [name, (row) => row[name]]);

/** RFC 4180. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map((value) => csvCell(textOf(value))).join(",")}\r\n`;
}

/** Pairs and lists in one cell: `a=1,b=2`. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map((each) => textOf(each)).join(",");
  if (typeof value !== "object") return typeof value === "string" ? value : JSON.stringify(value);
  return Object.entries(value)
    .map(([key, each]) => `${key}=${textOf(each)}`)
    .join(",");
}

/** What a spreadsheet would take for a formula gets an apostrophe: texts of machines are not trusted. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
