// Lists as CSV or as JSON lines: page by page, so that a list of any length takes the memory of one page.
import type { Context } from "hono";
import type { ListFormat } from "../../shared/protocol/fleet-api.ts";
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
