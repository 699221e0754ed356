import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  clipped,
  momentText,
  placeOf,
  timeAt,
  timeTicks,
  type ZoneOffset,
} from "../../../../infra/page/machine/timeline-scale.ts";

const at = (text: string) => Date.parse(text);
const HOUR = 3600_000;
const DAY = 24 * HOUR;
const UTC: ZoneOffset = () => 0;
const INDIA: ZoneOffset = () => 330;
/** Berlin in 2026: an hour ahead, two from 29 March to 25 October, each at 1:00 UTC. */
const BERLIN: ZoneOffset = (ms) =>
  ms >= at("2026-03-29T01:00:00Z") && ms < at("2026-10-25T01:00:00Z") ? 120 : 60;

describe("time as a place", () => {
  const window = { fromMs: 1000, toMs: 3000 };

  it.each([
    [1000, 0],
    [2000, 100],
    [3000, 200],
    [0, -100],
  ])("%d ms → %d", (ms, place) => {
    expect(placeOf(ms, window, 200)).toBe(place);
    expect(timeAt(place, window, 200)).toBe(ms);
  });

  it.each([
    ["within", [1500, 2500], [1500, 2500]],
    ["over all of it", [0, 9000], [1000, 3000]],
    ["over the begin", [500, 1500], [1000, 1500]],
    ["before it", [0, 1000], null],
    ["after it", [3000, 4000], null],
  ])("clipped: %s", (_, [fromMs = 0, toMs = 0], after) => {
    const [from, to] = after ?? [];
    expect(clipped({ fromMs, toMs }, window)).toEqual(after && { fromMs: from, toMs: to });
  });
});

describe("ticks at round local times", () => {
  it.each<[string, string, string, ZoneOffset, string]>([
    ["an hour", "2026-11-23T12:50:00Z", "2026-11-23T13:50:00Z", UTC, "13:00 13:15 13:30 13:45"],
    ["a minute", "2026-11-23T12:50:10Z", "2026-11-23T12:51:10Z", UTC, "12:50:20 12:50:40 12:51:00"],
    ["a day", "2026-11-22T14:00:00Z", "2026-11-23T14:00:00Z", BERLIN, "18:00 23 Nov 06:00 12:00"],
    [
      "a zone of half an hour",
      "2026-11-23T00:00:00Z",
      "2026-11-23T02:00:00Z",
      INDIA,
      "05:30 06:00 06:30 07:00 07:30",
    ],
    [
      "weeks begin on Mondays",
      "2026-11-01T00:00:00Z",
      "2026-11-24T00:00:00Z",
      UTC,
      "2 Nov 9 Nov 16 Nov 23 Nov",
    ],
    ["90 days", "2026-08-25T00:00:00Z", "2026-11-23T00:00:00Z", UTC, "31 Aug 28 Sep 26 Oct 23 Nov"],
    [
      "an hour that is left out",
      "2026-03-29T00:00:00Z",
      "2026-03-29T03:00:00Z",
      BERLIN,
      "01:00 03:00 04:00 05:00",
    ],
    [
      "an hour that comes twice",
      "2026-10-24T22:00:00Z",
      "2026-10-25T03:00:00Z",
      BERLIN,
      "25 Oct 02:00 04:00",
    ],
  ])("%s", (_, from, to, zone, texts) => {
    const ticks = timeTicks({ fromMs: at(from), toMs: at(to) }, 4, zone);
    expect(ticks.map(({ text }) => text).join(" ")).toBe(texts);
  });

  it("midnight is a day among hours, and not among days", () => {
    const hours = timeTicks({ fromMs: at("2026-11-22T20:00:00Z"), toMs: at("2026-11-23T04:00:00Z") }, 4, UTC);
    expect(hours.filter(({ isDay }) => isDay).map(({ text }) => text)).toEqual(["23 Nov"]);
    const days = timeTicks({ fromMs: at("2026-11-10T00:00:00Z"), toMs: at("2026-11-13T00:00:00Z") }, 4, UTC);
    expect(days.some(({ isDay }) => isDay)).toBe(false);
  });

  it("they are in order, within, round, and few, whenever and wherever", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2026-12-31T00:00:00Z") }),
        fc.integer({ min: 60_000, max: 90 * DAY }),
        fc.integer({ min: 1, max: 14 }),
        fc.constantFrom(UTC, INDIA, BERLIN),
        (fromMs, spanMs, most, zone) => {
          const toMs = fromMs + spanMs;
          const ticks = timeTicks({ fromMs, toMs }, most, zone);
          expect(ticks.length).toBeLessThanOrEqual(most + 1);
          for (const [index, { atMs }] of ticks.entries()) {
            expect(atMs).toBeGreaterThanOrEqual(fromMs);
            expect(atMs).toBeLessThanOrEqual(toMs);
            expect(atMs).toBeGreaterThan(ticks[index - 1]?.atMs ?? 0);
            expect((atMs + zone(atMs) * 60_000) % 1000).toBe(0);
          }
        },
      ),
    );
  });
});

it.each([
  ["2026-11-22T13:03:09.900Z", "22 Nov 14:03:09"],
  ["2026-12-31T22:59:59Z", "31 Dec 23:59:59"],
  ["2025-12-31T23:30:00Z", "1 Jan 00:30:00"],
  ["2025-11-22T13:03:09Z", "22 Nov 2025 14:03:09"],
])("%s in a sentence: %s", (time, text) => {
  expect(momentText(at(time), BERLIN, at("2026-11-23T00:00:00Z"))).toBe(text);
});
