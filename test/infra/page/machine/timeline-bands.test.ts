import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bandAt,
  clipped,
  kindOf,
  MARK_WORDS,
  placedBands,
  placedMarks,
  placeOf,
  signOf,
  timeAt,
  timeTicks,
} from "../../../../infra/page/machine/timeline-bands.ts";
import type { ZoneOffset } from "../../../../infra/page/base/relative-time.ts";
import type { DrawnBand, DrawnMark } from "../../../../infra/page/machine/timeline-data.ts";
import { HISTORY_KINDS } from "../../../../shared/protocol/history-kinds.ts";

const WIDTH = 1000;
const WINDOW = { fromMs: 0, toMs: 10_000 };
const band = (fromMs: number, toMs: number, status: string, text = ""): DrawnBand => ({
  track: "Ready",
  fromMs,
  toMs,
  status,
  text,
  isOpen: false,
});

describe("bands at a width", () => {
  const shown = (...bands: DrawnBand[]) =>
    placedBands(bands, WINDOW, WIDTH).map(({ x, width, look, of }) => [x, width, look, of.length]);

  it.each<[string, DrawnBand[], unknown[]]>([
    ["as wide as it lasted", [band(1000, 3000, "True")], [[100, 200, "good", 1]]],
    ["what is outside is not there", [band(-500, 0, "True"), band(10_000, 11_000, "True")], []],
    ["what began before begins at the edge", [band(-500, 1000, "True")], [[0, 100, "good", 1]]],
    [
      "what is too short to be seen is seen",
      [band(0, 5000, "True"), band(5000, 5001, "False"), band(5001, 10_000, "True")],
      [
        [0, 500, "good", 1],
        [500, 3, "bad", 1],
        [503, 497, "good", 1],
      ],
    ],
    [
      "several of them are one, that looks like the worst",
      [
        band(5000, 5005, "True"),
        band(5005, 5010, "False"),
        band(5010, 5015, "Unknown"),
        band(5015, 9000, "True"),
      ],
      [
        [500, 3, "bad", 3],
        [503, 397, "good", 1],
      ],
    ],
    [
      "at the end there is room for it",
      [band(0, 9999, "True"), band(9999, 10_000, "False")],
      [
        [0, 997, "good", 1],
        [997, 3, "bad", 1],
      ],
    ],
  ])("%s", (_, bands, placed) => {
    expect(shown(...bands)).toEqual(placed);
  });

  const statuses = fc.constantFrom("True", "False", "Unknown", "silent");
  const rows = fc
    .array(
      fc.tuple(
        fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 3000 })),
        statuses,
        fc.boolean(),
      ),
      {
        maxLength: 300,
      },
    )
    .map((parts) => {
      let at = -1000;
      return parts.flatMap(([ms, status, isKnown]) => {
        at += ms;
        return isKnown ? [band(at - ms, at, status)] : [];
      });
    });

  it("none overlaps another one, none is outside, none can be missed, none is forgotten", () => {
    fc.assert(
      fc.property(rows, (bands) => {
        const placed = placedBands(bands, WINDOW, WIDTH);
        let end = 0;
        for (const { x, width } of placed) {
          expect(x).toBeGreaterThanOrEqual(end - 1e-6);
          expect(width).toBeGreaterThan(0);
          end = x + width;
        }
        expect(end).toBeLessThanOrEqual(WIDTH + 1e-6);
        const seen = new Set(placed.flatMap(({ of }) => of));
        const lost = bands.filter((each) => each.toMs > 0 && each.fromMs < WINDOW.toMs && !seen.has(each));
        expect(
          lost.filter(({ fromMs, toMs }) => Math.min(toMs, WINDOW.toMs) - Math.max(fromMs, 0) > 60),
        ).toEqual([]);
      }),
    );
  });

  it("there are never more than can be told apart", () => {
    const many = Array.from({ length: 20_000 }, (_, at) =>
      band(at / 2, (at + 1) / 2, at % 2 ? "True" : "False"),
    );
    expect(placedBands(many, WINDOW, WIDTH).length).toBeLessThanOrEqual(WIDTH / 3);
  });

  it.each([
    [
      "room for some characters → all of it, which the style sheet shortens",
      440,
      "False · KubeletNotReady: node is shutting down",
    ],
    ["no room", 430, ""],
  ])("label: %s", (_, lasts, label) => {
    const [placed] = placedBands(
      [band(0, lasts, "False", "KubeletNotReady: node is shutting down")],
      WINDOW,
      WIDTH,
    );
    expect(placed?.label).toBe(label);
  });

  it("what is at a place", () => {
    const placed = placedBands([band(0, 5000, "True"), band(6000, 8000, "False")], WINDOW, WIDTH);
    expect([10, 550, 700].map((x) => bandAt(placed, x)?.look)).toEqual(["good", undefined, "bad"]);
  });
});

const mark = (atMs: number, kind = "reboot", text = ""): DrawnMark => ({ atMs, kind, text });

describe("marks at a width", () => {
  const at = { width: WIDTH, apartBy: 20 };

  it.each([
    ["each for itself", [1000, 2000], ["100×1", "200×1"]],
    ["those that would lie on each other are one", [1000, 1100, 1199, 1200], ["100×3", "120×1"]],
    ["within the ends", [0, 10_000], ["10×1", "990×1"]],
    ["what is outside is not there", [-1, 10_001], []],
  ])("%s", (_, times, placed) => {
    const found = placedMarks(
      times.map((ms) => mark(ms)),
      WINDOW,
      at,
    );
    expect(found.map(({ x, of }) => `${x}×${of.length}`)).toEqual(placed);
  });

  it("each is in one group, and groups are apart", () => {
    const times = fc.array(fc.integer({ min: 0, max: 10_000 })).map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(times, (all) => {
        const found = placedMarks(
          all.map((ms) => mark(ms)),
          WINDOW,
          at,
        );
        expect(found.flatMap(({ of }) => of.map(({ atMs }) => atMs))).toEqual(all);
        for (const [index, { x }] of found.entries())
          expect(x - (found[index - 1]?.x ?? -Infinity)).toBeGreaterThanOrEqual(20);
      }),
    );
  });
});

describe("the sign of a mark", () => {
  it.each([
    [[mark(0, "version"), mark(0, "reboot")], "reboot"],
    [[mark(0, "condition"), mark(0, "address")], "condition"],
    [[mark(0, "reboot"), mark(0, "identity", "an operator believed the machine")], "operator"],
  ])("%o", (of, sign) => {
    expect(signOf({ x: 0, of })).toBe(sign);
  });

  it.each([
    ["identity", "an operator revoked its keys", "operator"],
    ["identity", "the machine took its next key", "identity"],
    ["registration", "the shim operator-less started", "registration"],
  ])("%s, %s → %s", (kind, text, shown) => {
    expect(kindOf(mark(0, kind, text))).toBe(shown);
  });

  it("each kind of a line has its words", () => {
    expect(HISTORY_KINDS.filter((kind) => !(kind in MARK_WORDS))).toEqual([]);
  });
});

const at = (text: string) => Date.parse(text);
const HOUR = 3600_000;
const DAY = 24 * HOUR;
const UTC: ZoneOffset = () => 0;
const INDIA: ZoneOffset = () => 330;
/** Returns Berlin's offset in 2026: one hour, and two hours from 29 March to 25 October, each at 1:00 UTC. */
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
    ["a day", "2026-11-22T14:00:00Z", "2026-11-23T14:00:00Z", BERLIN, "18:00 2026-11-23 06:00 12:00"],
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
      "2026-11-02 2026-11-09 2026-11-16 2026-11-23",
    ],
    [
      "90 days",
      "2026-08-25T00:00:00Z",
      "2026-11-23T00:00:00Z",
      UTC,
      "2026-08-31 2026-09-28 2026-10-26 2026-11-23",
    ],
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
      "2026-10-25 02:00 04:00",
    ],
  ])("%s", (_, from, to, zone, texts) => {
    const ticks = timeTicks({ fromMs: at(from), toMs: at(to) }, 4, zone);
    expect(ticks.map(({ text }) => text).join(" ")).toBe(texts);
  });

  it("midnight is a day among hours, and not among days", () => {
    const hours = timeTicks({ fromMs: at("2026-11-22T20:00:00Z"), toMs: at("2026-11-23T04:00:00Z") }, 4, UTC);
    expect(hours.filter(({ isDay }) => isDay).map(({ text }) => text)).toEqual(["2026-11-23"]);
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
