import { expect, test } from "vitest";
import type { Round } from "./benchmark.ts";
import { type Budget, BUDGETS } from "./budgets.ts";
import { figuresJson, tableText } from "./output.ts";
import { figuresOf } from "./rounds.ts";

const ceiling: Budget = {
  name: "latency",
  what: "a decision",
  unit: "µs",
  against: "node JSON",
  budget: 0.3,
};
const floor: Budget = {
  name: "rate",
  what: "a rate",
  unit: "/s",
  against: "bare Worker",
  budget: 0.6,
  atLeast: true,
};
const start: Budget = { name: "start", what: "a start", unit: "s", against: "kubelet", budget: 0.58 };
const rows: Budget = { name: "rows", what: "rows", unit: "rows", budget: 0 };

const rounds: Round[] = [
  { ours: 20, yardstick: 100 },
  { ours: 12.3456, yardstick: 50 },
  { ours: 44, yardstick: 200 },
];

const all = [
  figuresOf(ceiling, rounds),
  figuresOf({ ...ceiling, budget: 0.2 }, rounds),
  figuresOf(floor, [{ ours: 600, yardstick: 1000 }]),
  figuresOf(start, [{ ours: 0.4 }]),
  figuresOf(rows, [{ ours: 0 }]),
  figuresOf({ ...rows, budget: null }, [{ ours: 1234 }]),
];

test("the table: ratio, spread, budget, figure and yardstick; rows that were not judged have the reason", () => {
  expect(tableText(all)).toBe(
    [
      "WHAT            JUDGED    MIN–MAX    BUDGET    MEASURED  BESIDE",
      "a decision      0.22 ×  0.2–0.247   ≤ 0.3 ×       20 µs  100 µs node JSON      ok",
      "a decision      0.22 ×  0.2–0.247   ≤ 0.2 ×       20 µs  100 µs node JSON      MISSED",
      "a rate           0.6 ×              ≥ 0.6 ×      600 /s  1,000 /s bare Worker  ok",
      "a start              -             ≤ 0.58 ×       0.4 s                        not judged",
      "rows            0 rows             ≤ 0 rows      0 rows                        ok",
      "rows        1,234 rows                    -  1,234 rows                        no budget",
      "not judged: no kubelet here: that takes KUBEBUILDER_ASSETS, root and containerd",
      "",
    ].join("\n"),
  );
});

test("colours → only the verdicts are coloured", () => {
  const table = tableText(all, true);
  expect(table).toContain("\u001B[31mMISSED\u001B[39m\n");
  expect(table).toContain("\u001B[32mok\u001B[39m\n");
  // oxlint-disable-next-line no-control-regex -- a terminal changes colours by these control characters
  expect(table.replaceAll(/\u001B\[\d+m/g, "")).toBe(tableText(all));
});

test("no colours → no control characters", () => {
  expect(tableText(all)).not.toContain("\u001B");
});

test("JSON: budgets, verdicts and spreads, unrounded", () => {
  expect(
    JSON.parse(figuresJson([figuresOf(ceiling, rounds.slice(1, 2)), figuresOf(rows, [{ ours: 1 }])])),
  ).toEqual([
    {
      name: "latency",
      unit: "µs",
      against: "node JSON",
      budget: 0.3,
      verdict: "ok",
      ours: { median: 12.3456, min: 12.3456, max: 12.3456 },
      yardstick: { median: 50, min: 50, max: 50 },
      ratio: { median: 0.246912, min: 0.246912, max: 0.246912 },
    },
    { name: "rows", unit: "rows", budget: 0, verdict: "MISSED", ours: { median: 1, min: 1, max: 1 } },
  ]);
});

test("every budget has a name and a wording of its own", () => {
  expect(new Set(BUDGETS.map(({ name }) => name)).size).toBe(BUDGETS.length);
  expect(new Set(BUDGETS.map(({ what }) => what)).size).toBe(BUDGETS.length);
});
