// Tests that the rows, the experiments and the verdict on differences agree. No cluster runs.
import { describe, expect, it, test } from "vitest";
import type { Experiment } from "./experiment.ts";
import { cellsOf, type Column, EXPERIMENTS } from "./plan.ts";
import { type RowName, ROWS } from "./rows.ts";
import { differences, type Measured, type MeasuredCell } from "./table-text.ts";

const experiments = Object.values<Experiment>(EXPERIMENTS);

it("each row belongs to one experiment", () => {
  expect(experiments.flatMap(({ rows }) => rows).toSorted()).toEqual(Object.keys(ROWS).toSorted());
});

it("each row is measured without rollcall and with each count", () => {
  const measured = experiments.flatMap((experiment) =>
    cellsOf(experiment).flatMap(({ expected }) => expected),
  );
  for (const name of Object.keys(ROWS)) {
    const columns = measured.filter(({ row }) => row === name).map(({ column }) => column);
    expect(columns).toEqual(expect.arrayContaining(["without", "1", "30", "1000"]));
  }
});

describe("the program's verdict", () => {
  const cell = (column: Column, expected: string, verdict = expected): MeasuredCell => ({
    column,
    fleet: { count: column === "without" ? 0 : 30, kind: "ours", state: "ready" },
    expected,
    outcome: { verdict },
  });
  const same = cell("without", "6 of 6");

  test.each<[situation: string, row: RowName, cells: MeasuredCell[], faults: string[]]>([
    ["the same with ours", "spread-hostname", [same, cell("30", "6 of 6")], []],
    [
      "another one with ours",
      "spread-hostname",
      [same, cell("30", "6 of 6", "3 of 6")],
      [`spread-hostname: "3 of 6" with 30 of ours, ready, and "6 of 6" without rollcall`],
    ],
    ["another one with ours, and the row says what to do", "failed-scrapes", [same, cell("30", "30")], []],
    ["another one without the remedy", "spread-hostname", [same, cell("control", "3 of 6")], []],
    [
      "the same without the remedy, where the table has another one",
      "spread-hostname",
      [same, cell("control", "3 of 6", "6 of 6")],
      [`spread-hostname: "6 of 6" with 30 of ours, ready, and the table has "3 of 6"`],
    ],
  ])("%s", (_, row, cells, faults) => {
    const measured: Measured = new Map([[row, cells]]);
    expect(differences(measured)).toEqual(faults);
  });
});
