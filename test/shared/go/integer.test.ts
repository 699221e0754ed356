import { expect, test } from "vitest";
import { parseInteger } from "../../../shared/go/integer.ts";

test.each([
  ["0", 0],
  ["-0", 0],
  ["+7", 7],
  ["-7", -7],
  ["110", 110],
  ["1_000", 1000],
  ["0x20", 32],
  ["0X_2a", 42],
  ["0b101", 5],
  ["0o17", 15],
  ["017", 15],
  ["0_17", 15],
  ["9007199254740991", 9_007_199_254_740_991],
  ["9007199254740992", null],
  ["", null],
  ["-", null],
  ["08", null],
  ["_1", null],
  ["1_", null],
  ["1__0", null],
  ["0x", null],
  ["1.0", null],
  ["1e3", null],
  [" 1", null],
  ["many", null],
])("%j → %j", (text, number) => {
  expect(parseInteger(text)).toBe(number);
});
