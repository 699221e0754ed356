import { describe, expect, test } from "vitest";
import type { Result } from "./benchmark.ts";
import { isMissed, resultsJson, tableText } from "./output.ts";

const ceiling: Result = {
  name: "latency",
  what: "a decision",
  unit: "µs",
  budget: 20,
  atLeast: false,
  measured: 12.3456,
};
const floor: Result = {
  ...ceiling,
  name: "rate",
  what: "a rate",
  budget: 1500,
  atLeast: true,
  measured: 1500,
};
const unpromised: Result = { ...ceiling, name: "part", what: "a part", budget: null };

describe("a budget is missed", () => {
  const cases: [situation: string, result: Result, missed: boolean][] = [
    ["at a ceiling → no", { ...ceiling, measured: 20 }, false],
    ["just over a ceiling → yes", { ...ceiling, measured: 20.001 }, true],
    ["at a floor → no", floor, false],
    ["just under a floor → yes", { ...floor, measured: 1499.9 }, true],
    ["none where none is promised → no", { ...ceiling, budget: 0, measured: 0 }, false],
    ["some where none is promised → yes", { ...ceiling, budget: 0, measured: 0.001 }, true],
    ["nothing is promised → no", { ...unpromised, measured: 1e9 }, false],
  ];
  test.each(cases)("%s", (_, result, missed) => {
    expect(isMissed(result)).toBe(missed);
    expect(tableText([result]).includes("MISSED")).toBe(missed);
  });
});

test("the table: a line each, in columns", () => {
  expect(tableText([ceiling, floor, unpromised, { ...ceiling, measured: 1234 }])).toBe(
    [
      "WHAT            BUDGET  MEASURED  OF BUDGET",
      "a decision     ≤ 20 µs   12.3 µs     61.7 %",
      "a rate      ≥ 1,500 µs  1,500 µs      100 %",
      "a part               -   12.3 µs          -",
      "a decision     ≤ 20 µs  1,234 µs    6,170 %  MISSED",
      "",
    ].join("\n"),
  );
});

test("JSON: name, unit, budget, measured and direction, unrounded", () => {
  expect(JSON.parse(resultsJson([ceiling, unpromised]))).toEqual([
    { name: "latency", unit: "µs", budget: 20, measured: 12.3456, atLeast: false },
    { name: "part", unit: "µs", budget: null, measured: 12.3456, atLeast: false },
  ]);
});
