// Tests that each reported time without an answer is one line of history, up to a limit in each hour.
import { expect, it, test } from "vitest";
import { recordOutage } from "../../../../worker/machine/contact.ts";
import { RATE_LIMITS } from "../../../../worker/storage/token-bucket.ts";
import { keptRecords } from "../../support/kept-records.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 10, 18, 56);
const { atOnce, everyMs } = RATE_LIMITS.outageLines;
const LINE = "silence: no answer from 2026-01-02T10:18:01Z to 2026-01-02T10:18:56Z";
const SINCE_MS = NOW_MS - 55_000;
const HOUR_MS = 3_600_000;

const told = (left: number, atMs: number, sinceMs = SINCE_MS - HOUR_MS) => ({
  outage: { left, atMs, sinceMs },
});

test.each<
  [
    situation: string,
    before: Record<string, unknown>,
    seconds: number | undefined,
    notes: string[],
    left?: number,
  ]
>([
  ["no outage", {}, undefined, []],
  ["the first one", {}, 55, [LINE], atOnce - 1],
  ["another one", told(3, NOW_MS), 55, [LINE], 2],
  ["reported again, since the answer was lost", told(3, NOW_MS - 30_000, SINCE_MS + 5000), 55, [], 3],
  ["begun a moment later", told(3, NOW_MS - 30_000, SINCE_MS + 5001), 55, [LINE]],
  ["none left", told(0, NOW_MS), 55, [], 0],
  ["none left, a moment too soon", told(0, NOW_MS - everyMs + 1), 55, [], 0],
  ["none left, ten minutes later", told(0, NOW_MS - everyMs), 55, [LINE], 0],
  ["hours later: as many as ever", told(0, NOW_MS - 24 * HOUR_MS), 55, [LINE], atOnce - 1],
  ["by a clock that was put back", told(0.9, NOW_MS + HOUR_MS), 55, [], 0.9],
])("%s", (_, before, noAnswerSeconds, notes, left) => {
  const state = keptRecords(before);
  recordOutage(state, noAnswerSeconds === undefined ? {} : { noAnswerSeconds }, NOW_MS);
  expect(state.notes).toEqual(notes);
  const kept = state.kept.get("outage") as { left: number } | undefined;
  if (left !== undefined || notes.length === 0) expect(kept?.left).toBe(left);
});

it("a machine that reports one each time → the burst's lines, then one in ten minutes", () => {
  const state = keptRecords();
  // Each report states an outage that began at another time.
  for (let beat = 0; beat < 360; beat++)
    recordOutage(state, { noAnswerSeconds: 60 * beat + 1 }, NOW_MS + 10_000 * beat);
  expect(state.notes.length).toBe(atOnce + 5);
});
