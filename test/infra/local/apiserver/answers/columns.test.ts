import { expect, test } from "vitest";
import { ageOf, humanDuration } from "../../../../../infra/local/apiserver/answers/columns.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

test.each<[ms: number, text: string]>([
  [-2 * second, "<invalid>"],
  [-1.5 * second, "0s"],
  [0, "0s"],
  [999, "0s"],
  [2 * minute - 1, "119s"],
  [2 * minute, "2m"],
  [3 * minute + 20 * second, "3m20s"],
  [10 * minute - 1, "9m59s"],
  [10 * minute + 59 * second, "10m"],
  [3 * hour - 1, "179m"],
  [3 * hour, "3h"],
  [7 * hour + 59 * minute, "7h59m"],
  [8 * hour + 59 * minute, "8h"],
  [2 * day - 1, "47h"],
  [2 * day, "2d"],
  [7 * day + 5 * hour, "7d5h"],
  [8 * day + 5 * hour, "8d"],
  [2 * year - 1, "729d"],
  [2 * year, "2y"],
  [2 * year + 3 * day, "2y3d"],
  [8 * year + 300 * day, "8y"],
])("%d ms → %s", (ms, text) => {
  expect(humanDuration(ms)).toBe(text);
});

test("no time → <unknown>", () => {
  expect(ageOf(null, new Date())).toBe("<unknown>");
});
