// Tables for people: as wide as what is in them, and never wider than the screen. Pure.
import {
  cutTo,
  harmless,
  padTo,
  type Paint,
  painted,
  type TerminalScreen,
  widthOf,
  wrapped,
} from "./terminal.ts";

export interface TableColumn<Row> {
  head: string;
  of: (row: Row) => string;
  /** In place of it, for programs: a time where people see an age. */
  raw?: (row: Row) => string;
  /** The higher, the earlier it is left out where the screen is too narrow; 0: it never is. */
  rank: number;
  /** Shown with -o wide and -o csv alone. */
  isWide?: true;
  /** A text that may be cut, to so many columns. */
  least?: number;
  paint?: (row: Row) => Paint | undefined;
}

const GAP = 3;
const NARROW_GAP = 2;
/** Where screens are small, so are the gaps. */
const NARROW = 100;

export function table<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  screen: TerminalScreen,
): string {
  const all = columns.map((column) => {
    const cells = rows.map((row) => harmless(column.of(row)));
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

/** Cuts texts and leaves columns out, the least important first, until all of it fits or nothing more may go. */
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

/** What is never left out is cut at once, any other text before it would be the next to go. */
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

/** Names and what they are, one below the other; what is too long goes on below itself. */
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
        harmless(text),
        Math.max((screen.columns ?? Infinity) - indent.length, LEAST_TEXT),
      );
      const body = lines.map((line) => painted(line, paint, screen)).join(`\n${indent}`);
      return `${padTo(harmless(name), width + GAP)}${body}`.trimEnd();
    })
    .map((line) => `${line}\n`)
    .join("");
}
