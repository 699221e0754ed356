import { describe, expect, test } from "vitest";
import { parseDuration } from "../../../shared/go/duration.ts";
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
