// How often a machine may have the apiserver asked: how a budget is spent, how it fills, what an eviction leaves of it.
import { describe, expect, it, test } from "vitest";
import type { RequestKind } from "../../../../worker/kube/kube-client.ts";
import type { NodeRecords, NodeRecordStore, RequestsLeft } from "../../../../worker/storage/records.ts";
import { afterRequest, allowance, RequestBudget, requestsAt } from "../../../../worker/tick/budgets.ts";

const NOW = 1_000_000_000;
const MINUTE_MS = 60_000;
const FULL: RequestsLeft = { renewals: 8, others: 12, recent: [], atMs: NOW };
const EMPTY: RequestsLeft = { renewals: 0, others: 0, recent: [], atMs: NOW };

test.each<[string, NodeRecords["requestsLeft"] | undefined, number, Partial<RequestsLeft>]>([
  ["an absent one is full", undefined, NOW, FULL],
  [
    "one of an earlier version, without what was asked lately, is read",
    { renewals: 1, others: 2, atMs: NOW },
    NOW,
    { renewals: 1, others: 2, recent: [] },
  ],
  ["a full one stays full", FULL, NOW + MINUTE_MS, { renewals: 8, others: 12 }],
  ["renewals fill by twelve a minute", EMPTY, NOW + 30_000, { renewals: 6 }],
  ["the others by eight", EMPTY, NOW + 15_000, { others: 2 }],
  ["a clock that was put back fills nothing", EMPTY, NOW - MINUTE_MS, { renewals: 0, others: 0 }],
  ["what was overdrawn is missing", { ...EMPTY, others: -8 }, NOW + MINUTE_MS, { others: 0 }],
])("%s", (_, budget, nowMs, left) => {
  expect(requestsAt(budget, 20, nowMs)).toMatchObject(left);
});

const asked = (renewals: number, others: number, agoMs = 0): RequestsLeft => ({
  ...FULL,
  recent: [{ sinceMs: NOW - agoMs, renewals, others }],
});

test.each<[string, RequestsLeft, RequestKind, number]>([
  ["a lease has its own share", FULL, "lease", 8],
  ["of the lease, with all else left", { ...FULL, renewals: 0.99 }, "lease", 0.99],
  ["the Node has the rest", FULL, "node", 12],
  ["of the Node, with renewals left alone", { ...FULL, others: 0.99 }, "node", 0.99],
  ["an event leaves four to the Node", FULL, "event", 8],
  ["an event, with no more than the Node may need", { ...FULL, others: 4.99 }, "event", 0.99],
  ["no more than 13 renewals in a minute", asked(10, 0), "lease", 3],
  ["no more than 12 others in a minute", asked(0, 10), "node", 2],
  ["whose minute is all but over", asked(0, 10, 59_999), "node", 2],
])("allowed: %s", (_, left, kind, count) => {
  expect(allowance(left, kind, 20)).toBeCloseTo(count, 9);
});

test.each<[string, RequestsLeft, RequestKind, Partial<RequestsLeft>]>([
  [
    "a renewal",
    FULL,
    "lease",
    { renewals: 7, others: 12, recent: [{ sinceMs: NOW, renewals: 1, others: 0 }] },
  ],
  [
    "about the Node",
    FULL,
    "node",
    { renewals: 8, others: 11, recent: [{ sinceMs: NOW, renewals: 0, others: 1 }] },
  ],
  [
    "an event",
    FULL,
    "event",
    { renewals: 8, others: 11, recent: [{ sinceMs: NOW, renewals: 0, others: 1 }] },
  ],
  [
    "within two seconds",
    asked(1, 1, 1999),
    "node",
    { recent: [{ sinceMs: NOW - 1999, renewals: 1, others: 2 }] },
  ],
  [
    "two seconds later",
    asked(1, 1, 2000),
    "node",
    {
      recent: [
        { sinceMs: NOW - 2000, renewals: 1, others: 1 },
        { sinceMs: NOW, renewals: 0, others: 1 },
      ],
    },
  ],
])("after a request: %s", (_, left, kind, next) => {
  expect(afterRequest(left, kind)).toMatchObject(next);
});

test.each([
  [61_999, 1],
  [62_000, 0],
])("what was asked %d ms ago → %d parts of the last minute", (agoMs, parts) => {
  expect(requestsAt(asked(1, 1, agoMs), 20, NOW).recent).toHaveLength(parts);
});

it("what was asked by a clock that is put back → counts as asked now", () => {
  expect(requestsAt(asked(1, 1, -MINUTE_MS), 20, NOW).recent).toEqual([
    { sinceMs: NOW, renewals: 1, others: 1 },
  ]);
});

it("a deployment that allows more → shares of that", () => {
  expect(requestsAt(undefined, 100, NOW)).toMatchObject({ renewals: 40, others: 60 });
  expect(requestsAt(EMPTY, 100, NOW + MINUTE_MS)).toMatchObject({ renewals: 40, others: 40 });
});

function budgeted(requestsLeft?: RequestsLeft) {
  const rows: RequestsLeft[] = requestsLeft ? [requestsLeft] : [];
  const records = {
    get: () => rows.at(-1),
    put: (_: string, value: RequestsLeft) => void rows.push(value),
  } as unknown as NodeRecordStore;
  const clock = { nowMs: NOW };
  const start = () => new RequestBudget(records, 20, () => clock.nowMs);
  return { rows, clock, start };
}
const takes = (budget: RequestBudget, asked: RequestKind, times: number) =>
  Array.from({ length: times }, () => budget.take(asked)).filter(Boolean).length;

describe("a budget", () => {
  it("is spent, and no more", () => {
    const budget = budgeted().start();
    expect(takes(budget, "event", 100)).toBe(8);
    expect(takes(budget, "node", 100)).toBe(4);
    expect(takes(budget, "lease", 100)).toBe(8);
  });

  it.each<[string, RequestKind, number, boolean]>([
    ["all renewals", "lease", 8, true],
    ["one more", "lease", 9, false],
    ["all about the Node", "node", 12, true],
    ["one more", "node", 13, false],
    ["all events", "event", 8, true],
    ["one more", "event", 9, false],
  ])("says what it allows: %s of %s × %d → %s", (_, asked, count, allowed) => {
    expect(budgeted().start().allows(asked, count)).toBe(allowed);
  });

  it("with less than five tries of a status update → one try", () => {
    const budget = budgeted().start();
    takes(budget, "node", 2);
    expect(budget.tries()).toBe(5);
    takes(budget, "node", 1);
    expect(budget.tries()).toBe(1);
  });

  it("of which no more is missing than an eviction may forget → no row; more → a row, which the next object reads", () => {
    const { rows, start } = budgeted();
    const budget = start();
    takes(budget, "node", 4);
    budget.keep();
    expect([rows, budget.keptForMs()]).toEqual([[], 0]);
    takes(budget, "lease", 1);
    budget.keep();
    expect(rows).toMatchObject([{ renewals: 7, others: 8, atMs: NOW }]);
    expect(start().allows("node", 9)).toBe(false);
  });

  it("is worth its row until it is full", () => {
    const { clock, start } = budgeted();
    const budget = start();
    takes(budget, "node", 12);
    expect(budget.keptForMs()).toBe(90_000);
    clock.nowMs += 90_000;
    expect(budget.keptForMs()).toBe(0);
  });

  it("in whatever minute, also after a rest → no more than 25", () => {
    const { clock, start } = budgeted();
    const budget = start();
    const times: number[] = [];
    for (; clock.nowMs < NOW + 60 * MINUTE_MS; clock.nowMs += 100) {
      // It rests for some minutes, and floods for some.
      if ((clock.nowMs / MINUTE_MS) % 7 < 3) continue;
      for (const kind of ["lease", "node"] as const) if (budget.take(kind)) times.push(clock.nowMs);
    }
    const inMinute = times.map(
      (from) => times.filter((time) => time >= from && time < from + MINUTE_MS).length,
    );
    expect(Math.max(...inMinute)).toBeLessThanOrEqual(25);
    expect(times.length).toBeGreaterThan(20 * 30);
  });

  it("that is used up when the clock is put back → fills as from then, and not only once the clock has caught up", () => {
    const { clock, start } = budgeted();
    const budget = start();
    takes(budget, "lease", 8);
    clock.nowMs -= 60 * MINUTE_MS;
    expect(budget.allows("lease")).toBe(false);
    clock.nowMs += MINUTE_MS + 2000;
    expect(takes(budget, "lease", 100)).toBe(8);
  });

  it.each<[string, made: number, afterMs: number, left: number]>([
    ["as many as come back", 60, 5 * MINUTE_MS, 8],
    ["fewer", 30, 5 * MINUTE_MS, 8],
    ["more", 66, 5 * MINUTE_MS, 2],
    ["some at once", 5, 0, 3],
    ["all at once", 8, 0, 0],
    ["more than there are", 10, 0, -2],
    ["many more: a minute's worth is missing", 100, 0, -20],
  ])(
    "of which a gateway makes renewals, %s → evicted meanwhile or not, so many are left",
    (_, made, afterMs, left) => {
      for (const isEvicted of [false, true]) {
        const { clock, start } = budgeted();
        const lending = start();
        const before = lending.left;
        clock.nowMs += afterMs;
        const budget = isEvicted ? start() : lending;
        // Whoever looks at it meanwhile changes nothing.
        if (!isEvicted) budget.allows("event");
        budget.spendMeanwhile(made, before);
        expect(budget.left).toMatchObject({ renewals: left, others: 12 });
      }
    },
  );

  it("may be overdrawn by a removal while a minute has room for it, and not again", () => {
    const budget = budgeted().start();
    takes(budget, "node", 12);
    takes(budget, "lease", 7);
    expect([budget.allowsAnyway(6), budget.allowsAnyway(7)]).toEqual([true, false]);
    budget.spend("node");
    expect(budget.allowsAnyway(1)).toBe(false);
  });

  it("that is overdrawn → by a minute's worth at most", () => {
    const { clock, start } = budgeted();
    const budget = start();
    for (let requests = 0; requests < 100; requests++) budget.spend("node");
    for (let requests = 0; requests < 100; requests++) budget.spend("lease");
    expect(budget.allows("node", 0)).toBe(false);
    clock.nowMs += 150_000;
    expect([budget.allows("node", 0), budget.allows("node", 1)]).toEqual([true, false]);
    expect([budget.allows("lease", 8), budget.allows("lease", 9)]).toEqual([true, false]);
  });
});
