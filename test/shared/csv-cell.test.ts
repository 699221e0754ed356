// Tests cells of CSV, which the Worker's lists and the command line's share.
import { describe, expect, it, test } from "vitest";
import { csvCell } from "../../shared/csv-cell.ts";

/** The first characters that OWASP lists for CSV injection. */
const OWASP = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"];
const quotedIfNeeded = (text: string) => (/[\r\n]/.test(text) ? `"${text}"` : text);

describe("a cell that begins like a formula → an apostrophe precedes it", () => {
  test.each(OWASP)("%j", (first) => {
    expect(csvCell(`${first}1+1`)).toBe(quotedIfNeeded(`'${first}1+1`));
    expect(csvCell(first)).toBe(quotedIfNeeded(`'${first}`));
  });
});

it.each([
  ["a negative number", "-12.5", "-12.5"],
  ["no number: two points", "-1.2.3", "'-1.2.3"],
  ["a full-width number", "－12", "'－12"],
  ["a sign inside", "a=1", "a=1"],
  ["a quote mark after the sign", '=a"b', '"\'=a""b"'],
  ["a comma", "a,b", '"a,b"'],
  ["nothing", "", ""],
])("%s", (_, text, cell) => {
  expect(csvCell(text)).toBe(cell);
});
