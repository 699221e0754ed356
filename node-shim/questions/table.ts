// Lays out rows as columns for a terminal, and numbers and times as people read them.

/** Yields each row as a line. Columns of numbers are aligned at their end. */
export function* table(rows: readonly (readonly string[])[]): Generator<string> {
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  const at = Array.from({ length: columns }, (_, column) => rows.map((row) => row[column] ?? ""));
  const widths = at.map((cells) => Math.max(...cells.map(({ length }) => length)));
  const isNumber = at.map((cells) => cells.slice(1).every((cell) => /^$|^-?\d/.test(cell)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      isNumber[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    );
    yield cells.join("  ").trimEnd();
  }
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Returns bytes with three digits or so: 1.4 GiB. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

/** Returns a time in RFC 3339. A foreign time may be outside of the range of Date. `ms`: milliseconds since 1970. */
export function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "(no time)" : date.toISOString();
}
