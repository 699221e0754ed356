// Tests the lines and the table of the comparison of the agents' costs.
import { expect, it, test } from "vitest";
import { linesPerSecond } from "./lines.ts";
import { agentsTable } from "./table.ts";

test.each([
  [true, ["Jan  5 07:08:09 vm kernel: [  10.000000] task docker:2341 blocked for more than 120 seconds."]],
  [false, []],
])("a second, with a problem: %j → 100 lines", (hasProblem, problems) => {
  const lines = linesPerSecond(new Date(2026, 0, 5, 7, 8, 9), hasProblem)
    .trimEnd()
    .split("\n");
  expect(lines).toHaveLength(100);
  expect(lines.filter((line) => line.includes("blocked for"))).toEqual(problems);
});

it("a row for each process", () => {
  const weight = { resident: 60.4, anonymous: 30.25, growth: 0, cpu: 0.5 };
  const of = (cpu: number) => new Map([["the shim", { ...weight, cpu }]]);
  expect(agentsTable({ rest: of(0.104), busy: of(0.5), ill: of(1) }).split("\n")[2]).toBe(
    "| the shim | 60 MiB | 30.3 MiB | 0.10 % | 0.50 % | 1.00 % |",
  );
});
