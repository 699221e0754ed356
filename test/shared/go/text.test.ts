import { describe, expect, test } from "vitest";
import { parseDuration } from "../../../shared/go/duration.ts";
import { parseFloat32 } from "../../../shared/go/float.ts";
import { quote, toLower, trimSpace } from "../../../shared/go/strings.ts";
import { failure, success } from "../../../shared/result.ts";

describe("duration", () => {
  test.each([
    ["10s", 10_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["100us", 0.1],
    ["1µs", 0.001],
    ["-1s", -1000],
    ["0", 0],
    ["2562047h47m16.854775807s", 9_223_372_036_854.775],
  ])("%s is %d ms", (text, ms) => {
    expect(parseDuration(text)).toEqual(success(ms));
  });

  test.each([
    ["", 'time: invalid duration ""'],
    ["5", 'time: missing unit in duration "5"'],
    ["1d", 'time: unknown unit "d" in duration "1d"'],
    [".s", 'time: invalid duration ".s"'],
    ["2562047h47m16.854775808s", 'time: invalid duration "2562047h47m16.854775808s"'],
    ["1é\n", String.raw`time: unknown unit "\xc3\xa9\x0a" in duration "1\xc3\xa9\x0a"`],
  ])("%j is none", (text, error) => {
    expect(parseDuration(text)).toEqual(failure(error));
  });
});

describe("32-bit float", () => {
  test.each([
    ["0.1", 0.10000000149011612],
    ["1_0.5", 10.5],
    ["0x1.8p1", 3],
    ["-inf", -Infinity],
    ["3.4028235e38", 3.4028234663852886e38],
    ["1e-60", 0],
  ])("%s is %d", (text, value) => {
    expect(parseFloat32(text)).toEqual(success(value));
  });

  test.each([
    ["", "invalid syntax"],
    ["1_", "invalid syntax"],
    ["1__0", "invalid syntax"],
    [" 1", "invalid syntax"],
    ["0x1", "invalid syntax"],
    ["+nan", "invalid syntax"],
    ["3.4028236e38", "value out of range"],
  ])("%j is none", (text, error) => {
    expect(parseFloat32(text)).toEqual(failure(`strconv.ParseFloat: parsing "${text}": ${error}`));
  });
});

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
});
