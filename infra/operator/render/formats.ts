// Formats for scripts: what they print does not depend on the screen, and no text in it is cut.

export const FORMATS = ["wide", "json", "yaml", "name", "csv", "jsonl"] as const;
export type OutputFormat = (typeof FORMATS)[number];

export const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

export const jsonLines = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

/** RFC 4180, with LF. */
export function csv(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, ...rows].map((row) => `${row.map(csvCell).join(",")}\n`).join("");
}

/** A spreadsheet would run what begins like a formula, and machines choose some of these texts. */
function csvCell(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
