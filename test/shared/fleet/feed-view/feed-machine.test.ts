// Tests a machine in the feed: the rounded age of its Node, and which changes count as lasting.
import { expect, it } from "vitest";
import { ALL_FIELDS, allValues, hasLastingChange } from "../../../../shared/fleet/feed-view.ts";
import type { MachineSummary } from "../../../../shared/fleet/summary.ts";
import { summaryOf } from "../../../worker/support/made-up-fleet.ts";

const MADE_MS = Date.UTC(2026, 0, 1, 12);
const fieldOf = (field: string, summary: MachineSummary) =>
  allValues("edge-1", summary)[ALL_FIELDS.indexOf(field)];
/** A summary as an earlier version stored it in the fleet index. */
const { createdMs: _, ...earlier } = summaryOf(1);

it.each<[situation: string, summary: MachineSummary, created: number | null]>([
  ["at the minute → as it is", { ...earlier, createdMs: MADE_MS }, MADE_MS],
  ["just before the next one → down to the minute", { ...earlier, createdMs: MADE_MS + 59_999 }, MADE_MS],
  ["there is no Node → null", { ...earlier, createdMs: 0 }, null],
  ["written by an earlier version → null", earlier, null],
])("a Node's age: %s", (_situation, summary, created) => {
  expect(fieldOf("created", summary)).toBe(created);
});

it.each<[situation: string, isTold: boolean, createdMs: number]>([
  ["the same minute", false, MADE_MS + 59_999],
  ["another Node", true, MADE_MS + 60_000],
  ["no Node any more", true, 0],
])("%s → a lasting change: %s", (_situation, isTold, createdMs) => {
  const before = { ...earlier, createdMs: MADE_MS };
  expect(hasLastingChange(before, { ...before, createdMs })).toBe(isTold);
});
