// Renders tables for people, as wide as their contents but never wider than the screen. Pure.
import { printable } from "../../../shared/protocol/printable.ts";
import { cutTo, padTo, type Paint, painted, type TerminalScreen, widthOf, wrapped } from "./terminal.ts";

export interface TableColumn<Row> {
  head: string;
  of: (row: Row) => string;
  /** Returns the value for CSV, if it differs from the shown text: a time in place of its age. */
  raw?: (row: Row) => string;
  /** The column's rank. A narrow screen leaves out the highest ranks first, but never rank 0. */
  rank: number;
  /** true if the column is shown only with -o wide and -o csv. */
  isWide?: true;
  /** The number of characters to which the text may be cut. Without it, the text is never cut. */
  least?: number;
  paint?: (row: Row) => Paint | undefined;
}

const GAP = 3;
const NARROW_GAP = 2;
/** The number of screen columns below which the gaps between table columns are narrow. */
const NARROW = 100;

export function table<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  screen: TerminalScreen,
): string {
  const all = columns.map((column) => {
    const cells = rows.map((row) => printable(column.of(row)));
    return { column, cells, width: Math.max(widthOf(column.head), ...cells.map(widthOf)) };
  });
  const gap = screen.columns !== null && screen.columns < NARROW ? NARROW_GAP : GAP;
  const shown = fitting(all, screen.columns ?? Infinity, gap);
  const line = (cells: { text: string; width: number; paint?: Paint | undefined }[]) =>
    `${cells
      .map(({ text, width, paint }, index) => {
        const cut = cutTo(text, width);
        const isLast = cells.slice(index + 1).every((cell) => cell.text === "");
        return painted(cut, paint, screen) + (isLast ? "" : padTo("", width - widthOf(cut) + gap));
      })
      .join("")
      .trimEnd()}\n`;
  const head = line(shown.map(({ column, width }) => ({ text: column.head, width })));
  const lines = rows.map((row, index) =>
    line(
      shown.map(({ column, cells, width }) => ({
        text: cells[index] ?? "",
        width,
        paint: column.paint?.(row),
      })),
    ),
  );
  return head + lines.join("");
}

interface Measured {
  column: Pick<TableColumn<never>, "rank" | "least">;
  width: number;
}

/** Cuts texts, and leaves out columns of the highest rank, until the table fits or only rank 0 is left. */
function fitting<Each extends Measured>(columns: readonly Each[], room: number, gap: number): Each[] {
  const needed = (each: readonly Measured[]) =>
    each.reduce((sum, { width }) => sum + width, 0) + gap * Math.max(each.length - 1, 0);
  let shown = [...columns];
  for (;;) {
    const excess = needed(shown) - room;
    if (excess <= 0) return shown;
    const last = Math.max(...shown.map(({ column }) => column.rank));
    const shrunk = shrink(shown, excess, last);
    if (needed(shrunk) <= room || last === 0) return shrunk;
    shown = shown.filter(({ column }) => column.rank !== last);
  }
}

/** Cuts the texts of columns with rank 0, and of the columns that would be left out next. */
function shrink<Each extends Measured>(columns: readonly Each[], excess: number, last: number): Each[] {
  let left = excess;
  return columns.map((each) => {
    const { least, rank } = each.column;
    if (least === undefined || least >= each.width || (rank !== 0 && rank !== last)) return each;
    const width = Math.max(least, each.width - left);
    left = Math.max(left - (each.width - width), 0);
    return { ...each, width };
  });
}

const LEAST_TEXT = 16;

/** Renders a line for each name and its text. A long text is wrapped and indented. */
export function pairs(
  rows: readonly (readonly [name: string, text: string, paint?: Paint | undefined])[],
  screen: TerminalScreen,
  nameWidth = 0,
): string {
  const width = Math.max(nameWidth, ...rows.map(([name]) => widthOf(name)));
  return rows
    .map(([name, text, paint]) => {
      const indent = " ".repeat(width + GAP);
      const lines = wrapped(
        printable(text),
        Math.max((screen.columns ?? Infinity) - indent.length, LEAST_TEXT),
      );
      const body = lines.map((line) => painted(line, paint, screen)).join(`\n${indent}`);
      return `${padTo(printable(name), width + GAP)}${body}`.trimEnd();
    })
    .map((line) => `${line}\n`)
    .join("");
}
