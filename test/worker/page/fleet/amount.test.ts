import { expect, it } from "vitest";
import { amountOf, bytesText } from "../../../../worker/page/fleet/amount.ts";

it.each([
  ["4", 4],
  ["1930m", 1.93],
  ["2k", 2000],
  ["8019464Ki", 8019464 * 1024],
  ["1.5Gi", 1.5 * 2 ** 30],
  ["", null],
  ["lots", null],
  ["1Xi", null],
  [undefined, null],
])("%s → %s", (quantity, expected) => {
  expect(amountOf(quantity)).toBe(expected);
});

it.each([
  [0, "0 B"],
  [512, "512 B"],
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [8019464 * 1024, "7.6 GiB"],
  [16 * 2 ** 30, "16 GiB"],
  [3 * 2 ** 60, "3072 PiB"],
])("%d bytes → %s", (bytes, expected) => {
  expect(bytesText(bytes)).toBe(expected);
});
