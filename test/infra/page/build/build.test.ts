// Tests the text about the page's size: one line, and a table of files if the page is too large.
import { expect, it } from "vitest";
import { type BuiltFile, firstLoadBytes, sizeText } from "../../../../infra/page/build/build.ts";

const file = (path: string, gzipBytes: number, isFirstLoad: boolean): BuiltFile => ({
  path,
  contents: new Uint8Array(),
  gzipBytes,
  isFirstLoad,
});
const FILES = [
  file("index.html", 1024, true),
  file("page/main.js", 2048, true),
  file("page/later.js", 4096, false),
];

it("what is loaded later does not count", () => {
  expect(firstLoadBytes(FILES)).toBe(3072);
});

it("at the limit → one line", () => {
  expect(sizeText(FILES, 3072)).toBe("the page: 3.0 KiB at first, of 3.0; 7.0 KiB in all (gzip -9)");
});

it("a byte over it → all files, the largest first", () => {
  expect(sizeText(FILES, 3071).split("\n").slice(1)).toEqual([
    "  page/later.js     4.0 KiB  later",
    "  page/main.js      2.0 KiB  at first",
    "  index.html        1.0 KiB  at first",
  ]);
});
