// Tests which requests are too late for a busy Worker.
import { expect, test } from "vitest";
import { BUSY_ANSWER_MS, isTooLate } from "../../../shared/protocol/answer-until.ts";

const NOW_MS = 1_767_225_600_000;

test.each<[situation: string, until: string | undefined, isLate: boolean]>([
  ["no header, as from an older shim", undefined, false],
  ["the machine waits just long enough", String(NOW_MS + BUSY_ANSWER_MS), false],
  ["a millisecond less", String(NOW_MS + BUSY_ANSWER_MS - 1), true],
  ["the machine waits no more", String(NOW_MS - 60_000), true],
  ["no time", "soon", false],
])("%s → late: %s", (_, until, isLate) => {
  expect(isTooLate(until, NOW_MS)).toBe(isLate);
});
