// Tests a machine's budgets for the cluster: how each budget is spent and refilled, and how much an eviction
// leaves.
import { describe, expect, it, test } from "vitest";
import type { ApiError } from "../../../shared/kubernetes/api-error.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import type { RequestKind } from "../../../worker/kube/kube-client.ts";
import { RATE_LIMITS, take, type TokenBucket } from "../../../worker/storage/token-bucket.ts";
import type { NodeRecords, NodeRecordStore, RequestsLeft } from "../../../worker/storage/records.ts";
import {
  afterRequest,
  allowance,
  type BackOff,
  backOffAfter,
  budgetAt,
  budgetText,
  emptyBudget,
  errorMeanwhile,
  isFull,
  isUrgent,
  parseBudget,
  REGISTRATION_APART_MS,
  RequestBudget,
  requestsAt,
  spendAnyway,
  spendRegistration,
  spendWrite,
  STATUS_BUDGET,
  type StatusBudget,
  TRIES_AT_ONCE,
} from "../../../worker/tick/budgets.ts";
import { facts as factsOf } from "../support/facts.ts";

describe("a budget of requests", () => {
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

  it("requests before the clock was set back → count as requests of the present", () => {
    expect(requestsAt(asked(1, 1, -MINUTE_MS), 20, NOW).recent).toEqual([
      { sinceMs: NOW, renewals: 1, others: 1 },
    ]);
  });

  it("a deployment with a higher limit → proportional shares", () => {
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
    it("is spent up to its limit", () => {
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

    it("with room for fewer than five attempts of a status update → one attempt", () => {
      const budget = budgeted().start();
      takes(budget, "node", 2);
      expect(budget.tries()).toBe(5);
      takes(budget, "node", 1);
      expect(budget.tries()).toBe(1);
    });

    it("that misses no more than an eviction may lose → no row; more → a row, which the next object reads", () => {
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

    it("keeps its row until it is full", () => {
      const { clock, start } = budgeted();
      const budget = start();
      takes(budget, "node", 12);
      expect(budget.keptForMs()).toBe(90_000);
      clock.nowMs += 90_000;
      expect(budget.keptForMs()).toBe(0);
    });

    it("in any minute, also after a pause → at most 25", () => {
      const { clock, start } = budgeted();
      const budget = start();
      const times: number[] = [];
      for (; clock.nowMs < NOW + 60 * MINUTE_MS; clock.nowMs += 100) {
        // In each seven minutes the machine pauses for three, and floods the apiserver for four.
        if ((clock.nowMs / MINUTE_MS) % 7 < 3) continue;
        for (const kind of ["lease", "node"] as const) if (budget.take(kind)) times.push(clock.nowMs);
      }
      const inMinute = times.map(
        (from) => times.filter((time) => time >= from && time < from + MINUTE_MS).length,
      );
      expect(Math.max(...inMinute)).toBeLessThanOrEqual(25);
      expect(times.length).toBeGreaterThan(20 * 30);
    });

    it("that is empty when the clock is set back → refills from then on, not only once the clock has caught up", () => {
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
          // A check of the budget between lending and return changes nothing.
          if (!isEvicted) budget.allows("event");
          budget.spendMeanwhile(made, before);
          expect(budget.left).toMatchObject({ renewals: left, others: 12 });
        }
      },
    );

    it("may be overdrawn by a removal while a minute's requests allow it, and not again", () => {
      const budget = budgeted().start();
      takes(budget, "node", 12);
      takes(budget, "lease", 7);
      expect([budget.allowsAnyway(6), budget.allowsAnyway(7)]).toEqual([true, false]);
      budget.spend("node");
      expect(budget.allowsAnyway(1)).toBe(false);
    });

    it("that is overdrawn → by one minute's requests at most", () => {
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
});

describe("a budget of status writes", () => {
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

  it("a registration's write takes more than there is, and later writes wait for it", () => {
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

    it("below zero → is read as it was written", () => {
      const owing = { ...EMPTY, bytes: -990 };
      expect(parseBudget(budgetText(owing), NOW)).toEqual(owing);
    });

    it("over the limit → full", () => {
      expect(budgetAt(parseBudget(`${bytesAtOnce * 9} 9 ${NOW}`, NOW), NOW)).toEqual(FULL);
    });

    it("of a clock that was ahead → refills from now on", () => {
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
});

describe("a budget of registrations", () => {
  const { atOnce, everyMs } = RATE_LIMITS.registrations;
  const apartMs = REGISTRATION_APART_MS;
  const NOW = 1_000_000_000;
  const HOUR_MS = 3_600_000;
  const left = (count: number): TokenBucket => ({ left: count, atMs: NOW });

  test.each<[string, TokenBucket | undefined, number, number, ReturnType<typeof spendRegistration>]>([
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
});

describe("a budget of fresh series of events", () => {
  const NOW_MS = Date.UTC(2026, 0, 1);
  const { atOnce, everyMs } = RATE_LIMITS.freshEvents;

  /** Returns which of the starts, `apartMs` after each other, have fresh events. */
  function startsOf(count: number, apartMs: number): boolean[] {
    let budget: TokenBucket | undefined;
    return Array.from({ length: count }, (_, at) => {
      const { isTaken, bucket } = take(budget, RATE_LIMITS.freshEvents, NOW_MS + at * apartMs);
      budget = bucket;
      return isTaken;
    });
  }

  describe("new series of events", () => {
    it("at once → up to the limit", () => {
      expect(startsOf(atOnce + 1, 0)).toEqual([...Array.from({ length: atOnce }, () => true), false]);
    });

    it("a shim that starts every ten seconds → 23 in its first hour, and 12 in each later one", () => {
      const fresh = startsOf(3 * 360, 10_000);
      const inHour = (hour: number) => fresh.slice(hour * 360, (hour + 1) * 360).filter(Boolean).length;
      expect([0, 1, 2].map(inHour)).toEqual([23, 12, 12]);
    });

    it("one more is allowed after five minutes, and not earlier", () => {
      const spent = { left: 0, atMs: NOW_MS };
      expect(take(spent, RATE_LIMITS.freshEvents, NOW_MS + everyMs - 1).isTaken).toBe(false);
      expect(take(spent, RATE_LIMITS.freshEvents, NOW_MS + everyMs)).toEqual({
        isTaken: true,
        bucket: { left: 0, atMs: NOW_MS + everyMs },
      });
    });

    it("a clock that goes back adds nothing; a long time adds no more than the limit", () => {
      expect(take({ left: 0.5, atMs: NOW_MS }, RATE_LIMITS.freshEvents, NOW_MS - everyMs).isTaken).toBe(
        false,
      );
      expect(take({ left: 0, atMs: 0 }, RATE_LIMITS.freshEvents, NOW_MS).bucket.left).toBe(atOnce - 1);
    });
  });
});

describe("the back-off of a step", () => {
  const NOW = 1_000_000_000;
  const INTERVAL_MS = 10_000;
  const AWAY: ApiError = { kind: "unanswered", message: "no answer in time" };
  const status = (code: number): ApiError => ({ kind: "status", status: { code } });

  const machine = (nowMs: number, random: number) => ({
    facts: factsOf("edge-1"),
    nowMs: () => nowMs,
    random: () => random,
  });
  const failing = (before: BackOff | undefined, nowMs: number, random = 0.5) =>
    backOffAfter(before, AWAY, machine(nowMs, random));

  /** Returns the back-off after this number of consecutive failures at the same moment. */
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
    expect(backOffAfter(failed(3), error, machine(NOW, 0)) !== undefined).toBe(counts);
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

    it("once in an interval, for any number of reports", () => {
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

    it("while the clock was set back → is tried", () => {
      expect(errorMeanwhile(failed(TRIES_AT_ONCE), NOW - 1)).toBeUndefined();
    });
  });
});
