// How often new processes of a machine's shim cause a registration.
import { expect, test } from "vitest";
import { failure, success } from "../../../../shared/result.ts";
import type { Allowance } from "../../../../worker/storage/allowance.ts";
import { REGISTRATION_BUDGET, spendRegistration } from "../../../../worker/tick/budgets.ts";

const { atOnce, everyMs, apartMs } = REGISTRATION_BUDGET;
const NOW = 1_000_000_000;
const HOUR_MS = 3_600_000;
const left = (count: number): Allowance => ({ left: count, atMs: NOW });

test.each<[string, Allowance | undefined, number, number, ReturnType<typeof spendRegistration>]>([
  ["the first", undefined, NOW, 20, success(left(atOnce - 1))],
  ["another one at once → waits", left(5), NOW, 20, failure(apartMs)],
  ["a moment too soon → waits", left(5), NOW + apartMs - 1, 20, failure(1)],
  [
    "10 s later",
    left(3),
    NOW + apartMs,
    20,
    success({ left: 3 + apartMs / everyMs - 1, atMs: NOW + apartMs }),
  ],
  ["none left → waits a minute", left(0), NOW, 20, failure(everyMs)],
  ["none left, a moment too soon", left(0), NOW + everyMs - 1, 20, failure(1)],
  ["none left, a minute later", left(0), NOW + everyMs, 20, success({ left: 0, atMs: NOW + everyMs })],
  [
    "hours later → as many as ever",
    left(0),
    NOW + HOUR_MS,
    20,
    success({ left: atOnce - 1, atMs: NOW + HOUR_MS }),
  ],
  ["a clock that was put back fills nothing", left(0), NOW - HOUR_MS, 20, failure(everyMs)],
  ["a deployment with twice the requests", left(3), NOW, 40, failure(apartMs / 2)],
  ["a deployment that does not count", left(3), NOW, 1e6, success(left(2))],
])("%s", (_, budget, nowMs, aMinute, outcome) => {
  expect(spendRegistration(budget, nowMs, { aMinute, nodeBytes: 0 })).toEqual(outcome);
});

test.each([
  [0, 5],
  [32 * 1024, 5],
  [48 * 1024, 4.5],
  [64 * 1024, 4],
])("a Node of %d bytes → %d of six are left", (nodeBytes, count) => {
  expect(spendRegistration(undefined, NOW, { aMinute: 20, nodeBytes })).toEqual(success(left(count)));
});
