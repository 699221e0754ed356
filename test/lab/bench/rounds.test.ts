import { describe, expect, test } from "vitest";
import type { Round } from "./benchmark.ts";
import type { Budget } from "./budgets.ts";
import { figuresOf, inTurns, judgedOf, median, verdictOf } from "./rounds.ts";

const ceiling: Budget = {
  name: "decision",
  what: "a decision",
  unit: "µs",
  against: "node JSON",
  budget: 0.5,
};
const floor: Budget = { ...ceiling, unit: "/s", against: "bare Worker", atLeast: true };
const absolute: Budget = { name: "rows", what: "rows written", unit: "rows", budget: 0 };

describe("the median of", () => {
  const cases: [situation: string, values: number[], expected: number][] = [
    ["one value → itself", [3], 3],
    ["an odd number of them → the middle one", [9, 1, 5], 5],
    ["an even number of them → the mean of the middle two", [9, 1, 5, 7], 6],
    ["one far out → the same as without it", [1, 1, 1, 1, 1000], 1],
    ["none → NaN", [], Number.NaN],
  ];
  test.each(cases)("%s", (_, values, expected) => {
    expect(median(values)).toBe(expected);
  });
});

test("in turns → ours, yardstick, ours, yardstick …, one after the other", async () => {
  const log: string[] = [];
  const step = (name: string, value: number) => async (turn: number) => {
    log.push(`${name} ${turn} begins`);
    await Promise.resolve();
    log.push(`${name} ${turn} ends`);
    return value + turn;
  };
  expect(await inTurns(2, step("ours", 10), step("yardstick", 100))).toEqual([
    { ours: 10, yardstick: 100 },
    { ours: 11, yardstick: 101 },
  ]);
  expect(log).toEqual(
    ["ours 0", "yardstick 0", "ours 1", "yardstick 1"].flatMap((turn) => [`${turn} begins`, `${turn} ends`]),
  );
});

describe("figures of rounds", () => {
  test("the ratio is the median of the rounds' ratios, not the ratio of the medians", () => {
    const rounds: Round[] = [
      { ours: 10, yardstick: 100 },
      { ours: 40, yardstick: 200 },
      { ours: 30, yardstick: 30 },
    ];
    expect(figuresOf(ceiling, rounds)).toEqual({
      ...ceiling,
      ours: { median: 30, min: 10, max: 40 },
      yardstick: { median: 100, min: 30, max: 200 },
      ratio: { median: 0.2, min: 0.1, max: 1 },
    });
  });

  test("a round that is slow for both → the same ratio, though both figures double", () => {
    const quiet = { ours: 20, yardstick: 80 };
    const busy = { ours: 40, yardstick: 160 };
    const { ratio, ours } = figuresOf(ceiling, [quiet, busy, busy]);
    expect(ratio).toEqual({ median: 0.25, min: 0.25, max: 0.25 });
    expect(ours).toEqual({ median: 40, min: 20, max: 40 });
  });

  test("a round with a ratio of its own → that one", () => {
    expect(figuresOf(ceiling, [{ ours: 1, yardstick: 2, ratio: 0.4 }]).ratio?.median).toBe(0.4);
  });

  test("no yardstick → no ratio", () => {
    expect(figuresOf(absolute, [{ ours: 1 }])).toEqual({ ...absolute, ours: { median: 1, min: 1, max: 1 } });
  });

  test.each([
    ["no round", []],
    ["a figure that is not a number", [{ ours: Number.NaN }]],
  ])("%s → an error", (_, rounds) => {
    expect(() => figuresOf(absolute, rounds)).toThrow("nothing was measured");
  });
});

describe("the verdict", () => {
  const beside = (ours: number): Round[] => [{ ours, yardstick: 100 }];
  const cases: [situation: string, budget: Budget, rounds: Round[], verdict: string][] = [
    ["a ratio at its ceiling → ok", ceiling, beside(50), "ok"],
    ["just over its ceiling → MISSED", ceiling, beside(50.01), "MISSED"],
    ["a ratio at its floor → ok", floor, beside(50), "ok"],
    ["just under its floor → MISSED", floor, beside(49.99), "MISSED"],
    ["a figure at its ceiling → ok", absolute, [{ ours: 0 }], "ok"],
    ["just over its ceiling, no yardstick → MISSED", absolute, [{ ours: 0.001 }], "MISSED"],
    ["no yardstick on this machine → not judged", ceiling, [{ ours: 1e9 }], "not judged"],
    ["no budget → no budget", { ...ceiling, budget: null }, beside(1e9), "no budget"],
    [
      "most rounds at the ceiling, one far over → ok",
      ceiling,
      [...beside(50), ...beside(50), ...beside(900)],
      "ok",
    ],
  ];
  test.each(cases)("%s", (_, budget, rounds, verdict) => {
    expect(verdictOf(figuresOf(budget, rounds))).toBe(verdict);
  });
});

test("the judged value: the ratio, or the figure if there is no yardstick", () => {
  expect(judgedOf(figuresOf(ceiling, [{ ours: 50, yardstick: 100 }]))?.median).toBe(0.5);
  expect(judgedOf(figuresOf(absolute, [{ ours: 3 }]))?.median).toBe(3);
});
