import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { routeOf, withRest } from "../../../../infra/page/base/places.ts";
import {
  canZoom,
  fittingRange,
  LAST_DAY,
  LEAST_SPAN_MS,
  LONGEST_SPAN_MS,
  movedBy,
  rangeOf,
  RANGES,
  restOf,
  spanText,
  stepOf,
  timelineQuery,
  type TimeRange,
  windowOf,
  zoomedBy,
  zoomedTo,
} from "../../../../infra/page/machine/range.tsx";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.parse("2026-11-23T14:00:00.500Z");
const latest = (spanMs: number): TimeRange => ({ kind: "latest", spanMs });
const fixed = (from: string, to: string): TimeRange => ({
  kind: "fixed",
  fromMs: Date.parse(from),
  toMs: Date.parse(to),
});

describe("the range that the URL has", () => {
  it.each([
    ["", null],
    ["?range=7d", latest(7 * DAY)],
    ["?range=90d", latest(90 * DAY)],
    ["?range=91d", null],
    ["?range=90m", latest(90 * MINUTE)],
    ["?range=1m", latest(MINUTE)],
    ["?range=0m", null],
    ["?range=week", null],
    ["?range=-7d", null],
    [
      "?from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z",
      fixed("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"),
    ],
    ["?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z", null],
    ["?from=2026-01-01T00:00:00Z&to=2026-11-01T00:00:00Z", null],
    ["?from=2026-11-02T00:00:00Z&range=6h", latest(6 * HOUR)],
    ["?from=yesterday&to=today", null],
  ])("%s", (search, range) => {
    expect(rangeOf(routeOf(search).rest)).toEqual(range);
  });

  it.each([
    [latest(DAY), "/?machine=edge-1&q=a&range=24h"],
    [latest(HOUR), "/?machine=edge-1&q=a&range=1h"],
    [latest(30 * DAY), "/?machine=edge-1&q=a&range=30d"],
    [
      fixed("2026-11-01T00:00:00.700Z", "2026-11-02T00:00:00Z"),
      "/?machine=edge-1&q=a&from=2026-11-01T00%3A00%3A00Z&to=2026-11-02T00%3A00%3A00Z",
    ],
  ])("%o is written, and replaces the one before", (range, href) => {
    const before = routeOf("?machine=edge-1&q=a&range=7d");
    expect(withRest(before, restOf(range))).toBe(href);
  });
});

const spans = fc.integer({ min: LEAST_SPAN_MS, max: LONGEST_SPAN_MS });
const ranges = fc.oneof(
  spans.map((ms) => latest(Math.max(MINUTE, Math.round(ms / MINUTE) * MINUTE))),
  fc.tuple(spans, fc.integer({ min: 0, max: 400 * DAY })).map(([spanMs, agoMs]): TimeRange => {
    const toMs = Math.floor((NOW - agoMs) / 1000) * 1000;
    return { kind: "fixed", fromMs: toMs - Math.round(spanMs / 1000) * 1000, toMs };
  }),
);

it("what is written is read as what it was", () => {
  fc.assert(
    fc.property(ranges, (range) => {
      const rest = Object.entries(restOf(range)).filter(([, value]) => value !== undefined);
      expect(rangeOf(new Map(rest as [string, string][]))).toEqual(range);
    }),
  );
});

it("whatever is zoomed and moved can be shown and is not after now", () => {
  const steps = fc.array(
    fc.oneof(
      fc.constantFrom(0.5, 2).map((factor) => (range: TimeRange) => zoomedBy(range, factor, NOW)),
      fc.constantFrom(-0.5, 0.5).map((part) => (range: TimeRange) => movedBy(range, part, NOW)),
      fc
        .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))
        .map(([a, b]) => (range: TimeRange) => {
          const { fromMs, toMs } = windowOf(range, NOW);
          return zoomedTo(fromMs + a * (toMs - fromMs), fromMs + b * (toMs - fromMs), NOW);
        }),
    ),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(ranges, steps, (first, acts) => {
      let range = first;
      for (const act of acts) {
        range = act(range);
        const { fromMs, toMs } = windowOf(range, NOW);
        expect(toMs).toBeLessThanOrEqual(NOW + 1000);
        expect(toMs - fromMs).toBeGreaterThanOrEqual(LEAST_SPAN_MS);
        expect(toMs - fromMs).toBeLessThanOrEqual(LONGEST_SPAN_MS);
      }
    }),
  );
});

describe("zooming what ends now goes by the buttons", () => {
  it.each([
    [DAY, 2, 7 * DAY],
    [DAY, 0.5, 6 * HOUR],
    [HOUR, 0.5, HOUR],
    [90 * DAY, 2, 90 * DAY],
    [90 * MINUTE, 2, 6 * HOUR],
    [90 * MINUTE, 0.5, HOUR],
    [10 * MINUTE, 0.5, 10 * MINUTE],
  ])("%d ms by %d", (spanMs, factor, after) => {
    expect(zoomedBy(latest(spanMs), factor, NOW)).toEqual(latest(after));
    expect(canZoom(latest(spanMs), factor)).toBe(spanMs !== after);
  });
});

describe("zooming what lies still", () => {
  const day = fixed("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z");

  it("keeps its middle", () => {
    expect(zoomedBy(day, 0.5, NOW)).toEqual(fixed("2026-11-01T06:00:00Z", "2026-11-01T18:00:00Z"));
    expect(zoomedBy(day, 2, NOW)).toEqual(fixed("2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z"));
  });

  it("ends now at the latest, and is 90 days at most", () => {
    const recent = fixed("2026-11-23T00:00:00Z", "2026-11-23T13:00:00Z");
    expect(windowOf(zoomedBy(recent, 2, NOW), NOW).toMs).toBe(Math.floor(NOW / 1000) * 1000);
    const long = fixed("2026-08-01T00:00:00Z", "2026-10-01T00:00:00Z");
    const { fromMs, toMs } = windowOf(zoomedBy(long, 2, NOW), NOW);
    expect(toMs - fromMs).toBe(LONGEST_SPAN_MS);
    expect(canZoom({ kind: "fixed", fromMs, toMs }, 2)).toBe(false);
  });

  it("shows a minute at least", () => {
    const { fromMs, toMs } = windowOf(zoomedTo(NOW - HOUR, NOW - HOUR + 10, NOW), NOW);
    expect(toMs - fromMs).toBe(LEAST_SPAN_MS);
    expect(canZoom({ kind: "fixed", fromMs, toMs }, 0.5)).toBe(false);
  });
});

describe("moving", () => {
  it.each<[string, TimeRange, number, TimeRange]>([
    [
      "back from now it lies still",
      latest(2 * HOUR),
      -0.5,
      fixed("2026-11-23T11:00:00Z", "2026-11-23T13:00:00Z"),
    ],
    ["not beyond now", latest(2 * HOUR), 0.5, latest(2 * HOUR)],
    [
      "up to now it follows again",
      fixed("2026-11-23T11:00:00Z", "2026-11-23T13:00:00Z"),
      0.5,
      fixed("2026-11-23T12:00:00Z", "2026-11-23T14:00:00Z"),
    ],
    [
      "beyond now it follows as well",
      fixed("2026-11-23T11:30:00Z", "2026-11-23T13:30:00Z"),
      0.5,
      latest(2 * HOUR),
    ],
  ])("%s", (_, range, part, after) => {
    expect(movedBy(range, part, NOW)).toEqual(after);
  });
});

describe("what the Worker is asked for", () => {
  it.each([
    ["what ends now has no end", latest(DAY), { since: "2026-11-22T14:00:00.500Z" }],
    ["90 days are a little less", latest(90 * DAY), { since: "2026-08-25T14:05:00.500Z" }],
    [
      "what is over has one",
      fixed("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"),
      { since: "2026-11-01T00:00:00.000Z", until: "2026-11-02T00:00:00.000Z" },
    ],
    [
      "what has just ended has none: clocks differ",
      fixed("2026-11-23T13:00:00Z", "2026-11-23T13:58:00Z"),
      { since: "2026-11-23T13:00:00.000Z" },
    ],
  ])("%s", (_, range, query) => {
    expect(timelineQuery(range, NOW)).toEqual(query);
  });

  it("never for more than 90 days", () => {
    fc.assert(
      fc.property(ranges, (range) => {
        const { since, until } = timelineQuery(range, NOW);
        expect((until ? Date.parse(until) : NOW) - Date.parse(since)).toBeLessThanOrEqual(90 * DAY);
      }),
    );
  });
});

it.each([
  [HOUR, "1h"],
  [90 * MINUTE, "90m"],
  [DAY, "24h"],
  [2 * DAY, "2d"],
  [36 * HOUR, "36h"],
  [MINUTE - 1, "1m"],
])("%d ms in words: %s", (ms, text) => {
  expect(spanText(ms)).toBe(text);
});

it("each button's range is what it says", () => {
  for (const each of RANGES)
    expect(restOf(rangeOf(new Map([["range", each]])) ?? LAST_DAY)).toMatchObject({ range: each });
});

it.each([
  ["for a second", NOW - 1000, MINUTE],
  ["for a minute", NOW - MINUTE, MINUTE],
  ["for a little longer", NOW - MINUTE - 1, 2 * MINUTE],
  ["for an hour", NOW - HOUR, HOUR],
  ["for a little longer than an hour", NOW - HOUR - 1, 2 * HOUR],
  ["for ten hours", NOW - 10 * HOUR, 10 * HOUR],
  ["for a year", NOW - 365 * DAY, DAY],
  ["by a clock that is ahead", NOW + MINUTE, MINUTE],
  ["not at all", null, DAY],
])("without a choice, of a machine that is known %s", (_, knownSinceMs, spanMs) => {
  expect(fittingRange(knownSinceMs, NOW)).toEqual(latest(spanMs));
});

it.each([
  [HOUR, 5000],
  [DAY, 85_000],
  [90 * DAY, 7_775_000],
])("the right edge of %d ms moves each %d ms", (spanMs, stepMs) => {
  expect(stepOf(spanMs)).toBe(stepMs);
});
