// What a machine may have written of its Node: how a budget is spent, how it fills, what cannot be withheld.
import { describe, expect, it, test } from "vitest";
import type { Node } from "../../../../shared/kubernetes/types.ts";
import {
  budgetAt,
  budgetText,
  emptyBudget,
  isFull,
  isUrgent,
  parseBudget,
  spendAnyway,
  spendWrite,
  STATUS_BUDGET,
  type StatusBudget,
} from "../../../../worker/tick/budgets.ts";

const { bytesAtOnce, bytesAnHour, urgentAtOnce } = STATUS_BUDGET;
const NOW = 1_000_000_000;
const HOUR_MS = 3_600_000;
const FULL = { bytes: bytesAtOnce, urgent: urgentAtOnce, atMs: NOW };
const EMPTY = emptyBudget(NOW);

test.each<[string, StatusBudget | undefined, number, Partial<StatusBudget>]>([
  ["an absent one is full", undefined, NOW, FULL],
  ["a full one stays full", FULL, NOW + HOUR_MS, { bytes: bytesAtOnce, urgent: urgentAtOnce }],
  ["bytes fill by the hour", EMPTY, NOW + HOUR_MS / 64, { bytes: bytesAnHour / 64 }],
  ["urgent writes fill by the minute", EMPTY, NOW + 30_000, { urgent: 1 }],
  [
    "a clock that was put back fills nothing",
    EMPTY,
    NOW - HOUR_MS,
    { bytes: 0, urgent: 0, atMs: NOW - HOUR_MS },
  ],
])("%s", (_, budget, nowMs, left) => {
  expect(budgetAt(budget, nowMs)).toMatchObject(left);
});

test.each([
  ["as it was made", FULL, NOW, true],
  ["a byte short", { ...FULL, bytes: bytesAtOnce - 1 }, NOW, false],
  ["an urgent write short", { ...FULL, urgent: urgentAtOnce - 1 }, NOW, false],
  ["empty, a long time ago", EMPTY, NOW + HOUR_MS, true],
])("full: %s", (_, budget, nowMs, outcome) => {
  expect(isFull(budget, nowMs)).toBe(outcome);
});

const write = (bytes: number, urgent = false) => ({ bytes, urgent });

test.each<[string, StatusBudget | undefined, ReturnType<typeof write>, Partial<StatusBudget> | null]>([
  ["as much as is left → written", undefined, write(bytesAtOnce), { bytes: 0, urgent: urgentAtOnce }],
  ["a byte more → waits", undefined, write(bytesAtOnce + 1), null],
  [
    "urgent, with enough left → of the bytes",
    undefined,
    write(1000, true),
    { bytes: bytesAtOnce - 1000, urgent: urgentAtOnce },
  ],
  [
    "urgent, with too little left → of the urgent ones",
    { ...EMPTY, bytes: 10, urgent: 1 },
    write(1000, true),
    { bytes: -990, urgent: 0 },
  ],
  ["urgent, with none of either left → waits", { ...EMPTY, urgent: 0.99 }, write(1000, true), null],
])("a write: %s", (_, budget, cost, left) => {
  const spent = spendWrite(budget, cost, NOW);
  if (left === null) expect(spent).toBeNull();
  else expect(spent).toMatchObject(left);
});

it("a registration's write takes more than there is, and later ones wait for it", () => {
  expect(spendAnyway({ ...EMPTY, bytes: 10 }, 1000, NOW)).toEqual({ ...EMPTY, bytes: -990 });
  expect(spendAnyway(undefined, 1000, NOW)).toEqual({ ...FULL, bytes: bytesAtOnce - 1000 });
});

describe("the lease's annotation", () => {
  it("is read as it was written", () => {
    const budget = { bytes: 1234, urgent: 1.5, atMs: NOW };
    expect(parseBudget(budgetText(budget), NOW)).toEqual(budget);
  });

  it("absent → full, as before there were budgets", () => {
    expect(parseBudget(undefined, NOW)).toBeUndefined();
  });

  it.each(["", "x", "1 1", "1 1 1 1", "0 -1 1", "0 1 -1", "NaN 0 1", "Infinity 0 1"])(
    "%o → nothing left",
    (text) => {
      expect(parseBudget(text, NOW)).toEqual(EMPTY);
    },
  );

  it("less than nothing → is read as it was written", () => {
    const owing = { ...EMPTY, bytes: -990 };
    expect(parseBudget(budgetText(owing), NOW)).toEqual(owing);
  });

  it("more than full → full", () => {
    expect(budgetAt(parseBudget(`${bytesAtOnce * 9} 9 ${NOW}`, NOW), NOW)).toEqual(FULL);
  });

  it("of a clock that was ahead → fills from now on", () => {
    const budget = parseBudget(`0 0 ${NOW + HOUR_MS}`, NOW);
    expect(budgetAt(budget, NOW + HOUR_MS / 64).bytes).toBe(bytesAnHour / 64);
  });
});

const ready = (status?: string): Node => ({
  status: { conditions: status === undefined ? [] : [{ type: "Ready", status }] },
});

test.each([
  ["True", "False", true],
  ["True", "Unknown", true],
  ["True", undefined, true],
  ["Unknown", "True", true],
  ["Unknown", "False", true],
  ["False", "True", false],
  ["True", "True", false],
  ["False", "False", false],
  [undefined, "True", false],
])("Ready %s → %s: urgent %s", (was, is, urgent) => {
  expect(isUrgent(ready(was), ready(is))).toBe(urgent);
});
