// The live table of `npm start`: a line per Node, drawn again in place on a terminal; elsewhere a line per change.
import { clearScreenDown, moveCursor } from "node:readline";
import { styleText } from "node:util";

export interface NodeRow {
  name: string;
  status: string;
  /** RFC 3339; undefined: never. */
  leaseRenewedAt: string | undefined;
  createdAt: string | undefined;
  version: string;
  internalIP: string;
  osImage: string;
  kernel: string;
}

const HEAD = ["NAME", "STATUS", "LEASE", "AGE", "INTERNAL-IP", "OS-IMAGE", "KERNEL", "VERSION"];
/** More Nodes than this are counted, not listed. */
const MAX_ROWS = 20;

/** `12s`, `4m`, `3h`, `9d`; `-` for a time that is not known. */
export function age(since: string | undefined, nowMs: number): string {
  if (since === undefined) return "-";
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(since)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** The table's lines, padded by column, cut to the terminal's width. */
export function tableLines(rows: NodeRow[], nowMs: number, columns: number): string[] {
  const cells = rows
    .slice(0, MAX_ROWS)
    .map((row) => [
      row.name,
      row.status,
      age(row.leaseRenewedAt, nowMs),
      age(row.createdAt, nowMs),
      row.internalIP,
      row.osImage,
      row.kernel,
      row.version,
    ]);
  const widths = HEAD.map((head, column) =>
    Math.max(head.length, ...cells.map((line) => line[column]?.length ?? 0)),
  );
  const lines = [HEAD, ...cells].map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("   ")
      .trimEnd()
      .slice(0, columns - 1),
  );
  const ready = rows.filter(({ status }) => status.startsWith("Ready")).length;
  if (rows.length > MAX_ROWS) lines.push(`… and ${rows.length - MAX_ROWS} more`);
  return [...lines, `${ready} of ${rows.length} Ready`];
}

export interface LiveTable {
  draw: (rows: NodeRow[], nowMs: number) => void;
  /** Says something that stays above the table. */
  note: (message: string) => void;
}

/** Draws rows to a stream, again and again. */
export function liveTable(out: NodeJS.WriteStream): LiveTable {
  if (!out.isTTY) return { draw: changesOnly(out), note: (message) => void out.write(`${message}\n`) };
  let drawn: string[] = [];
  const erase = () => {
    moveCursor(out, 0, -drawn.length);
    clearScreenDown(out);
  };
  const print = () => {
    const lines = drawn.map((line, index) => (index === 0 ? styleText("bold", line) : line));
    out.write(lines.map((line) => `${line}\n`).join(""));
  };
  return {
    draw(rows, nowMs) {
      erase();
      drawn = tableLines(rows, nowMs, out.columns || 80);
      print();
    },
    note(message) {
      erase();
      out.write(`${message}\n`);
      print();
    },
  };
}

function changesOnly(out: NodeJS.WriteStream): LiveTable["draw"] {
  const last = new Map<string, string>();
  return (rows) => {
    for (const { name, status } of rows) {
      if (last.get(name) === status) continue;
      last.set(name, status);
      out.write(`node ${name} is ${status}\n`);
    }
    const there = new Set(rows.map(({ name }) => name));
    for (const name of last.keys()) {
      if (there.has(name)) continue;
      last.delete(name);
      out.write(`node ${name} is gone\n`);
    }
  };
}
