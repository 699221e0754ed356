// Ages as kubectl prints them: the table of TestHumanDuration in k8s.io/apimachinery/pkg/util/duration.
import { expect, test } from "vitest";
import { ageOf, humanDuration } from "../../../../infra/operator/render/age.ts";

const [S, M, H, D] = [1000, 60_000, 3_600_000, 86_400_000];
const Y = 365 * D;

test.each<[ms: number, text: string]>([
  [S, "1s"],
  [70 * S, "70s"],
  [190 * S, "3m10s"],
  [70 * M, "70m"],
  [47 * H, "47h"],
  [49 * H, "2d1h"],
  [8 * D + 2 * H, "8d"],
  [367 * D, "367d"],
  [2 * Y + 25 * D, "2y25d"],
  [8 * Y + 2 * D, "8y"],
  [2 * M, "2m"],
  [10 * M - S, "9m59s"],
  [10 * M, "10m"],
  [3 * H, "3h"],
  [8 * H - S, "7h59m"],
  [8 * H, "8h"],
  [2 * D, "2d"],
  [8 * D - S, "7d23h"],
  [2 * Y, "2y"],
  [0, "0s"],
  [-S, "0s"],
  [-2 * S, "<invalid>"],
])("%i ms → %s", (ms, text) => {
  expect(humanDuration(ms)).toBe(text);
});

test.each<[situation: string, time: string | number | null, age: string]>([
  ["a text", "2026-01-01T00:00:00Z", "5m"],
  ["milliseconds", Date.UTC(2026, 0, 1), "5m"],
  ["a clock that is ahead by seconds", "2026-01-01T00:05:20Z", "0s"],
  ["none", null, ""],
  ["something else", "never", ""],
])("%s → its age", (_, time, age) => {
  expect(ageOf(time, Date.UTC(2026, 0, 1, 0, 5))).toBe(age);
});
