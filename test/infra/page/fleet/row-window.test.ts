import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { paperWindow, rowWindow } from "../../../../infra/page/fleet/row-window.ts";

describe("which rows are drawn", () => {
  it.each([
    ["at the top", { count: 10_000, above: 0, visible: 720 }, { from: 0, to: 48 }],
    ["a list that begins further down", { count: 10_000, above: -400, visible: 720 }, { from: 0, to: 48 }],
    ["one that is not on the screen yet", { count: 10_000, above: -2000, visible: 720 }, { from: 0, to: 56 }],
    ["in the middle", { count: 10_000, above: 36_000, visible: 720 }, { from: 984, to: 1032 }],
    ["at the end", { count: 10_000, above: 359_280, visible: 720 }, { from: 9952, to: 10_000 }],
    [
      "beyond the end, as after a filter",
      { count: 100, above: 359_280, visible: 720 },
      { from: 52, to: 100 },
    ],
    ["fewer rows than there is room for", { count: 5, above: 0, visible: 720 }, { from: 0, to: 5 }],
    ["none", { count: 0, above: 0, visible: 720 }, { from: 0, to: 0 }],
    ["a table that nobody can see", { count: 100, above: 0, visible: 0 }, { from: 0, to: 32 }],
  ])("%s", (_, list, expected) => {
    expect(rowWindow({ ...list, rowHeight: 36 })).toEqual(expected);
  });

  it("wherever it is scrolled to → what can be seen, and never more than a few rows beyond", () => {
    const list = fc.record({
      count: fc.integer({ min: 0, max: 50_000 }),
      rowHeight: fc.constantFrom(36, 60, 37.5),
      visible: fc.integer({ min: 0, max: 3000 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(list, ({ share, ...given }) => {
        const above = share * Math.max(0, given.count * given.rowHeight - given.visible);
        const { from, to } = rowWindow({ ...given, above });
        const first = Math.floor(above / given.rowHeight);
        const last = Math.min(given.count, Math.ceil((above + given.visible) / given.rowHeight));
        expect(from).toBeLessThanOrEqual(Math.max(0, Math.min(first, given.count)));
        expect(to).toBeGreaterThanOrEqual(last);
        expect(from).toBeGreaterThanOrEqual(0);
        expect(to).toBeLessThanOrEqual(given.count);
        expect(to - from).toBeLessThanOrEqual(Math.ceil(given.visible / given.rowHeight) + 50);
      }),
    );
  });
});

it.each([
  [0, 0],
  [999, 999],
  [1000, 1000],
  [1001, 1000],
])("%d rows → %d of them on paper", (count, to) => {
  expect(paperWindow(count)).toEqual({ from: 0, to });
});
