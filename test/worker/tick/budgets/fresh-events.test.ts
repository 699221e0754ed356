import { describe, expect, it } from "vitest";
import { FRESH_EVENTS, spendFreshEvents } from "../../../../worker/tick/budgets.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const { atOnce, everyMs } = FRESH_EVENTS;

/** Which of the starts, `apartMs` after each other, are fresh. */
function startsOf(count: number, apartMs: number): boolean[] {
  let budget: Parameters<typeof spendFreshEvents>[0];
  return Array.from({ length: count }, (_, at) => {
    const { isFresh, left } = spendFreshEvents(budget, NOW_MS + at * apartMs);
    budget = left;
    return isFresh;
  });
}

describe("events that begin afresh", () => {
  it("at once → as many as the limit, and no more", () => {
    expect(startsOf(atOnce + 1, 0)).toEqual([...Array.from({ length: atOnce }, () => true), false]);
  });

  it("a shim that starts every ten seconds → 23 in its first hour, and 12 in each one after it", () => {
    const fresh = startsOf(3 * 360, 10_000);
    const inHour = (hour: number) => fresh.slice(hour * 360, (hour + 1) * 360).filter(Boolean).length;
    expect([0, 1, 2].map(inHour)).toEqual([23, 12, 12]);
  });

  it("one more comes back after five minutes, and not a moment sooner", () => {
    const spent = { left: 0, atMs: NOW_MS };
    expect(spendFreshEvents(spent, NOW_MS + everyMs - 1).isFresh).toBe(false);
    expect(spendFreshEvents(spent, NOW_MS + everyMs)).toEqual({
      isFresh: true,
      left: { left: 0, atMs: NOW_MS + everyMs },
    });
  });

  it("a clock that goes back fills nothing; a long time fills no more than there may be at once", () => {
    expect(spendFreshEvents({ left: 0.5, atMs: NOW_MS }, NOW_MS - everyMs).isFresh).toBe(false);
    expect(spendFreshEvents({ left: 0, atMs: 0 }, NOW_MS).left.left).toBe(atOnce - 1);
  });
});
