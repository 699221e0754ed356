// What a command has to show, in every format that can be asked for. Asks nobody, writes nothing.
import { failure, type Result, success } from "../../../shared/result.ts";
import { table, type TableColumn } from "./table.ts";
import type { TerminalScreen } from "./terminal.ts";

/** How people look at it. */
export interface ScreenView {
  screen: TerminalScreen;
  nowMs: number;
  isWide: boolean;
}

export interface Shown {
  /** For people. */
  text: (view: ScreenView) => string;
  /** Of a list alone. */
  list?: ShownList;
}

interface ShownList {
  /** As JSON lines have them. */
  records: readonly unknown[];
  names: readonly string[];
  csv: (nowMs: number) => string;
}

interface ListParts<Row> {
  /** "": it has none. */
  nameOf: (row: Row) => string;
  /** What the rows were made of; without it the rows themselves. */
  records?: readonly unknown[];
  /** Stands above the table, and instead of it where there is nothing. */
  above?: (view: ScreenView) => string;
  below?: string;
}

/** `columnsAt` is typically a list of columns, of which some say how long ago something was. */
export function listOf<Row>(
  rows: readonly Row[],
  columnsAt: (nowMs: number) => readonly TableColumn<Row>[],
  { nameOf, records = rows, above = () => "", below = "" }: ListParts<Row>,
): Shown {
  return {
    text: (view) => {
      const columns = columnsAt(view.nowMs).filter(({ isWide }) => view.isWide || !isWide);
      const head = above(view);
      const hasTable = rows.length > 0 || head === "";
      return head + (hasTable ? table(columns, rows, view.screen) : "") + below;
    },
    list: {
      records,
      names: [...new Set(rows.map(nameOf).filter((name) => name !== ""))],
      csv: (nowMs) => {
        const columns = columnsAt(nowMs);
        const heads = columns.map(({ head }) => head.toLowerCase());
        return csv(
          heads,
          rows.map((row) => columns.map(({ of, raw = of }) => raw(row))),
        );
      },
    },
  };
}

export const textOf = (text: (view: ScreenView) => string): Shown => ({ text });

/** `sent` is what the Worker answered. */
export async function inFormat(
  { text, list }: Shown,
  sent: unknown,
  format: OutputFormat | undefined,
  view: ScreenView,
): Promise<Result<string>> {
  if (format === undefined || format === "wide") return success(text(view));
  if (format === "json") return success(json(sent));
  if (format === "yaml") {
    // Loaded on demand: most commands print no YAML.
    const { stringify } = await import("yaml");
    return success(stringify(sent, { lineWidth: 0 }));
  }
  return list
    ? success(listIn(list, format, view.nowMs))
    : failure(`-o ${format} is for lists: use json or yaml`);
}

function listIn({ records, names, csv }: ShownList, format: "name" | "csv" | "jsonl", nowMs: number): string {
  if (format === "csv") return csv(nowMs);
  return format === "jsonl" ? jsonLines(records) : names.map((name) => `${name}\n`).join("");
}

export const FORMATS = ["wide", "json", "yaml", "name", "csv", "jsonl"] as const;
export type OutputFormat = (typeof FORMATS)[number];

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

const jsonLines = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

/** RFC 4180, with LF. */
function csv(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, ...rows].map((row) => `${row.map(csvCell).join(",")}\n`).join("");
}

/** A spreadsheet would run what begins like a formula, and machines choose some of these texts. */
function csvCell(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
