import { expect, test } from "vitest";
import { ageOf } from "../../../../infra/operator/render/age.ts";

test.each<[situation: string, time: string | number | null, age: string]>([
  ["a text", "2026-01-01T00:00:00Z", "5m"],
  ["milliseconds", Date.UTC(2026, 0, 1), "5m"],
  ["a clock that is ahead by seconds", "2026-01-01T00:05:20Z", "0s"],
  ["none", null, ""],
  ["something else", "never", ""],
])("%s → its age", (_, time, age) => {
  expect(ageOf(time, Date.UTC(2026, 0, 1, 0, 5))).toBe(age);
});
