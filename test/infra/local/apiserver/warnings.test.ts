// Warning headers: once each, quoted, and no more than fits.
import { expect, test } from "vitest";
import { addWarnings } from "../../../../infra/local/apiserver/warnings.ts";

function headerOf(...warnings: string[]): string | null {
  return addWarnings(new Response(), warnings).headers.get("warning");
}

test.each([
  ["none", [], null],
  ["the same twice: once", ["a", "a"], '299 - "a"'],
  ["quotes and backslashes: escaped", [String.raw`"\ `], String.raw`299 - "\"\\ "`],
  ["what no header can carry: left out", ["a\nb", "c"], '299 - "c"'],
])("%s", (_situation, warnings, header) => {
  expect(headerOf(...warnings)).toBe(header);
});

test("4096 characters together are sent whole, one more and each is cut to 256", () => {
  const half = (letter: string, length: number) => letter.repeat(length);
  expect(headerOf(half("a", 2048), half("b", 2048))).toHaveLength(4096 + 2 * '299 - ""'.length + 2);
  expect(headerOf(half("a", 2048), half("b", 2049))).toBe(
    `299 - "${half("a", 256)}", 299 - "${half("b", 256)}"`,
  );
});
