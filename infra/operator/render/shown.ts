// Renders a command's output in each format of -o. Formats for scripts cut no text to the screen's width.
import { printable, printableJson } from "../../../shared/protocol/printable.ts";
import { csvCell } from "../../../shared/csv-cell.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { table, type TableColumn } from "./table.ts";
import type { TerminalScreen } from "./terminal.ts";

/** The screen that the text is for, and the present time. */
export interface ScreenView {
  screen: TerminalScreen;
  nowMs: number;
  isWide: boolean;
}

export interface Shown {
  /** Renders the output for people. */
  text: (view: ScreenView) => string;
  /** The list, if the output has one. Only a list has the formats name, csv and jsonl. */
  list?: ShownList;
}

interface ShownList {
  /** The objects that -o jsonl prints, one per line. */
  records: readonly unknown[];
  names: readonly string[];
  csv: (nowMs: number) => string;
}

interface ListParts<Row> {
  /** Returns the name of a row for -o name, or "" if it has none. */
  nameOf: (row: Row) => string;
  /** The objects for -o jsonl. By default the rows of the table. */
  records?: readonly unknown[];
  /** Returns the text above the table. Without rows, the text replaces the table; without a text, `none` does. */
  above?: (view: ScreenView) => string;
  below?: string;
}

/** Makes the output of a list. `columnsAt` returns the columns at a time, since some columns show an age. */
export function listOf<Row>(
  rows: readonly Row[],
  columnsAt: (nowMs: number) => readonly TableColumn<Row>[],
  { nameOf, records = rows, above = () => "", below = "" }: ListParts<Row>,
): Shown {
  return {
    text: (view) => {
      const columns = columnsAt(view.nowMs).filter(({ isWide }) => view.isWide || !isWide);
      const head = above(view);
      if (rows.length === 0) return (head || "none\n") + below;
      return head + table(columns, rows, view.screen) + below;
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

/** Renders the output in a format. `sent` is the Worker's answer, for json and yaml. */
export async function inFormat(
  { text, list }: Shown,
  sent: unknown,
  format: OutputFormat | undefined,
  view: ScreenView,
): Promise<Result<string>> {
  if (format === undefined || format === "wide") return success(text(view));
  if (format === "json") return success(json(sent));
  if (format === "yaml") {
    // The YAML library is loaded on demand, because most commands print no YAML.
    const { stringify } = await import("yaml");
    return success(plain(stringify(sent, { lineWidth: 0 })));
  }
  return list
    ? success(listIn(list, format, view.nowMs))
    : failure(`-o ${format} is for lists: use json or yaml`);
}

function listIn({ records, names, csv }: ShownList, format: "name" | "csv" | "jsonl", nowMs: number): string {
  if (format === "csv") return plain(csv(nowMs));
  return format === "jsonl" ? jsonLines(records) : plain(names.map((name) => `${name}\n`).join(""));
}

/** Returns a text without control characters but line breaks. Formats for programs have no colours. */
const plain = (text: string) => text.split("\n").map(printable).join("\n");

export const FORMATS = ["wide", "json", "yaml", "name", "csv", "jsonl"] as const;
export type OutputFormat = (typeof FORMATS)[number];

const json = (value: unknown) => `${printableJson(value, 2)}\n`;

const jsonLines = (rows: readonly unknown[]) => rows.map((row) => `${printableJson(row)}\n`).join("");

/** Returns a table in CSV by RFC 4180, but with LF as line end. */
function csv(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, ...rows].map((row) => `${row.map(csvCell).join(",")}\n`).join("");
}
