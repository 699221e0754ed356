// What a command has to show, in every format that can be asked for. Asks nobody, writes nothing.
import { failure, type Result, success } from "../../../shared/result.ts";
import { csv, type OutputFormat, json, jsonLines } from "./formats.ts";
import type { TerminalScreen } from "./screen.ts";
import { type TableColumn, table } from "./table.ts";

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
    const { yaml } = await import("./yaml.ts");
    return success(yaml(sent));
  }
  return list
    ? success(listIn(list, format, view.nowMs))
    : failure(`-o ${format} is for lists: use json or yaml`);
}

function listIn({ records, names, csv }: ShownList, format: "name" | "csv" | "jsonl", nowMs: number): string {
  if (format === "csv") return csv(nowMs);
  return format === "jsonl" ? jsonLines(records) : names.map((name) => `${name}\n`).join("");
}
