// Formats cells of CSV, for the Worker's lists and the command line's.

/**
 * Matches the beginnings of texts that a spreadsheet would run as formulas, as OWASP lists them (CSV Injection). The
 * last four are the full-width forms of the first four.
 */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NEGATIVE_NUMBER = /^-\d+(?:\.\d+)?$/;

/** Formats a CSV cell (RFC 4180). Machines choose some texts, so an apostrophe precedes a text like a formula. */
export function csvCell(text: string): string {
  const inert = FORMULA.test(text) && !NEGATIVE_NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
