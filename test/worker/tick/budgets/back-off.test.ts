// How a step spares an apiserver that fails.
import { describe, expect, it, test } from "vitest";
import type { ApiError } from "../../../../shared/kubernetes/api-error.ts";
import {
  type BackOff,
  backOffAfter,
  errorMeanwhile,
  TRIES_AT_ONCE,
} from "../../../../worker/tick/budgets.ts";

const NOW = 1_000_000_000;
const INTERVAL_MS = 10_000;
const AWAY: ApiError = { kind: "unanswered", message: "no answer in time" };
const status = (code: number): ApiError => ({ kind: "status", status: { code } });

const failing = (before: BackOff | undefined, nowMs: number, random = 0.5) =>
  backOffAfter(before, AWAY, INTERVAL_MS, nowMs, () => random);

/** After so many failures in a row, at the same moment. */
function failed(times: number, random?: number): BackOff | undefined {
  let backOff: BackOff | undefined;
  for (let failures = 0; failures < times; failures++) backOff = failing(backOff, NOW, random);
  return backOff;
}

test.each<[string, ApiError | null, boolean]>([
  ["no answer", AWAY, true],
  ["500", status(500), true],
  ["503", status(503), true],
  ["429", status(429), true],
  ["499", status(499), false],
  ["403, which is an answer", status(403), false],
  ["409, which is an answer", status(409), false],
  ["a success", null, false],
])("%s → is it counted: %s", (_, error, counts) => {
  expect(backOffAfter(failed(3), error, INTERVAL_MS, NOW, () => 0) !== undefined).toBe(counts);
});

describe("a step that failed", () => {
  it("four times → is not tried", () => {
    expect(errorMeanwhile(failed(TRIES_AT_ONCE - 1), NOW)).toBeUndefined();
    expect(errorMeanwhile(failed(TRIES_AT_ONCE), NOW)).toEqual(AWAY);
  });

  it.each([
    [0, 0.5],
    [1, 0.9],
  ])("is tried before the next periodic report, at random (%s)", (random, ofInterval) => {
    const backOff = failed(TRIES_AT_ONCE, random);
    expect(errorMeanwhile(backOff, NOW + INTERVAL_MS * ofInterval - 1)).toEqual(AWAY);
    expect(errorMeanwhile(backOff, NOW + INTERVAL_MS * ofInterval)).toBeUndefined();
  });

  it("once an interval, however often its machine reports", () => {
    let backOff = failed(TRIES_AT_ONCE);
    let tried = 0;
    for (let nowMs = NOW; nowMs < NOW + 60 * INTERVAL_MS; nowMs += 100) {
      if (errorMeanwhile(backOff, nowMs)) continue;
      tried++;
      backOff = failing(backOff, nowMs, (nowMs / 7) % 1);
    }
    expect(tried).toBeGreaterThan(60);
    expect(tried).toBeLessThan(60 / 0.5);
  });

  it("while the clock was put back → is tried", () => {
    expect(errorMeanwhile(failed(TRIES_AT_ONCE), NOW - 1)).toBeUndefined();
  });
});
