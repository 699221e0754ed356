import { expect, test } from "vitest";
import { ageOf } from "../../../../../infra/local/apiserver/answers/columns.ts";

test.each<[timestamp: unknown, age: string]>([
  ["2026-01-01T00:00:00Z", "3m20s"],
  ["", "<unknown>"],
  [null, "<unknown>"],
])("%j → %s", (timestamp, age) => {
  expect(ageOf(timestamp, new Date("2026-01-01T00:03:20Z"))).toBe(age);
});
