import { describe, expect, test } from "vitest";
import { quote, quoteMeta, toLower, trimSpace } from "../../../shared/go/strings.ts";

describe("strings", () => {
  test.each([
    ["a byte order mark is no space", "\ufeff a\u0085", "\ufeff a"],
    ["nor is a zero-width one", "\u200ba\u2003", "\u200ba"],
  ])("%s", (_, text, trimmed) => {
    expect(trimSpace(text)).toBe(trimmed);
  });

  test.each([
    ["a final sigma like any other", "ΑΣ", "ασ"],
    ["one character for one", "İx", "ix"],
  ])("%s", (_, text, lower) => {
    expect(toLower(text)).toBe(lower);
  });

  test.each([
    ['a"b\\', String.raw`"a\"b\\"`],
    ["\u0000\u007f\n", String.raw`"\x00\x7f\n"`],
    ["é😀\u200b\ufeff", String.raw`"é😀\u200b\ufeff"`],
    ["\ud800", '"\ufffd"'],
  ])("%j in quotes", (text, quoted) => {
    expect(quote(text)).toBe(quoted);
  });

  test("every character of an expression → an expression of itself", () => {
    const text = String.raw`\.+*?()|[]{}^$ -/a`;
    expect(new RegExp(`^${quoteMeta(text)}$`, "u").test(text)).toBe(true);
  });
});
