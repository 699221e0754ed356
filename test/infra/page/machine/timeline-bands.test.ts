import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HISTORY_KINDS } from "../../../../shared/protocol/operator-api.ts";
import {
  bandAt,
  kindOf,
  MARK_WORDS,
  placedBands,
  placedMarks,
  signOf,
} from "../../../../infra/page/machine/timeline-bands.ts";
import type { DrawnBand, DrawnMark } from "../../../../infra/page/machine/timeline-data.ts";

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
    ["room for all", 3200, "False · KubeletNotReady: node is shutting down"],
    ["room for its begin", 1800, "False · KubeletNotReady:…"],
    ["room for its status", 700, "False"],
    ["no room", 300, ""],
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
