import { describe, expect, it } from "vitest";
import { amountOf, amountText } from "../../../../infra/page/base/amounts.ts";

const MI = 2 ** 20;
const GI = 2 ** 30;

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

describe("an amount in words", () => {
  it.each([
    [0, "bytes", "0 B"],
    [512, "bytes", "512 B"],
    [1023, "bytes", "1,023 B"],
    [1024, "bytes", "1 KiB"],
    [412 * MI, "bytes", "412 MiB"],
    [1023.6 * MI, "bytes", "1,024 MiB"],
    [31.25 * GI, "bytes", "31.3 GiB"],
    [1.5 * GI, "bytes", "1.5 GiB"],
    [5000 * 2 ** 50, "bytes", "5,000 PiB"],
    [0, "count", "0"],
    [32_768, "count", "32,768"],
    [999_999, "count", "999,999"],
    [1_000_000, "count", "1 million"],
    [2_345_678, "count", "2.35 million"],
    [4e9, "count", "4 billion"],
  ] as const)("%d %s → %s", (amount, unit, text) => {
    expect(amountText(amount, unit)).toBe(text);
  });
});
