// Tests which gaps between two heartbeats of a machine count as late.
import { expect, it, test } from "vitest";
import { LATE_MS, LeaseWatch } from "./lease-watch.ts";

test.each<[situation: string, renewedMs: number[], endMs: number, longestMs: number, late: number]>([
  ["each beat", [0, 10_000, 20_000], 25_000, 10_000, 0],
  ["late by exactly a beat", [0, LATE_MS], LATE_MS, LATE_MS, 0],
  ["late by more", [0, LATE_MS + 1], LATE_MS + 1, LATE_MS + 1, 1],
  ["twice", [0, LATE_MS + 1, 2 * LATE_MS + 2], 2 * LATE_MS + 2, LATE_MS + 1, 2],
  ["never again", [0, 10_000], 40_000, 30_000, 1],
  ["no lease", [], 60_000, 0, 0],
])("%s", (_, renewedMs, endMs, longestMs, late) => {
  const watch = new LeaseWatch();
  watch.begin(0);
  for (const atMs of renewedMs) watch.renewed("edge-1", atMs);
  const summary = watch.end(endMs);
  expect(summary).toMatchObject({ longestMs, renewals: renewedMs.length });
  expect(summary.late).toHaveLength(late);
});

it("each machine has its own; times before the start do not count", () => {
  const watch = new LeaseWatch();
  watch.renewed("edge-1", 0);
  watch.renewed("edge-1", 60_000);
  watch.begin(61_000);
  watch.renewed("edge-2", 70_000);
  watch.renewed("edge-1", 85_000);
  expect(watch.end(86_000)).toEqual({
    leases: 2,
    renewals: 2,
    longestMs: 25_000,
    late: [{ name: "edge-1", gapMs: 25_000, sinceMs: 60_000 }],
  });
});
