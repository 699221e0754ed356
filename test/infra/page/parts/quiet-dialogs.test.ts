import { expect, test } from "vitest";
import { endFault } from "../../../../infra/page/parts/quiet-dialogs.tsx";

const NOW_MS = Date.UTC(2026, 0, 1);
const MONTH_MS = 30 * 24 * 3600_000;

test.each([
  ["now", 0, false],
  ["a millisecond later", 1, true],
  ["30 days later", MONTH_MS, true],
  ["just over 30 days later", MONTH_MS + 1, false],
  ["a text that is no time", Number.NaN, false],
])("a maintenance that ends %s", (_, afterMs, isAccepted) => {
  expect(endFault(NOW_MS + afterMs, NOW_MS) === undefined).toBe(isAccepted);
});
