// Tests the level of a token bucket as time passes.
import { expect, test } from "vitest";
import { type TokenBucket, tokensAt } from "../../../worker/storage/token-bucket.ts";

const NOW_MS = 1_000_000;
const LIMITS = { atOnce: 3, everyMs: 1000 };
const left = (count: number, agoMs: number): TokenBucket => ({ left: count, atMs: NOW_MS - agoMs });

test.each<[situation: string, budget: TokenBucket | undefined, expected: number]>([
  ["nothing was ever spent", undefined, 3],
  ["just now", left(1, 0), 1],
  ["a part of the while ago", left(1, 500), 1.5],
  ["a while ago", left(1, 1000), 2],
  ["overdrawn", left(-1, 1000), 0],
  ["as long ago as fills it", left(0, 3000), 3],
  ["longer ago", left(0, 3001), 3],
  ["by a clock that was put back", left(1, -5000), 1],
])("%s", (_, budget, expected) => {
  expect(tokensAt(budget, LIMITS, NOW_MS)).toBe(expected);
});
