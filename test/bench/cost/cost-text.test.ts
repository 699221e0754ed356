import { expect, test } from "vitest";
import { costText, dollarsText } from "./cost-text.ts";
import { recordedCosts } from "./recorded.ts";

test.each([
  [0, "0"],
  [0.000004, "<0.00001"],
  [0.000005, "0.00001"],
  [0.00821, "0.00821"],
  [0.0821, "0.0821"],
  [0.1492, "0.149"],
  [4.2, "4.20"],
  [42, "42.00"],
])("%d dollars → %s", (dollars, text) => {
  expect(dollarsText(dollars)).toBe(text);
});

test("what is printed fits a terminal of 80 columns, and says what was computed", () => {
  const text = costText(recordedCosts());
  expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(text).toMatch(/^in all {2}.*\d$/m);
  expect(text).toContain("Computed, not counted");
});
