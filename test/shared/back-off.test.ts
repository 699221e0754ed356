import { expect, test } from "vitest";
import { backOff } from "../../shared/back-off.ts";

test.each([
  ["the first failure", 1, 100],
  ["the second", 2, 200],
  ["the last below the longest wait", 5, 1600],
  ["the first above it", 6, 3000],
  ["more than a number can double", 5000, 3000],
])("%s", (_, failures, waitMs) => {
  expect(backOff(failures, 100, 3000)).toBe(waitMs);
});
