// Tests when a receiver is notified of a machine's state, by the state that it was notified of before.
import { describe, expect, it } from "vitest";
import { type Watched, watchedAfter } from "../../../worker/fleet/alert-rules.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

describe("when a receiver is notified of a state that began 10 s ago", () => {
  const [nowMs, sinceMs, delayMs] = [100 * SECOND, 90 * SECOND, MINUTE];
  const watched = (state: Watched["state"], notified: Watched["notified"], dueMs: number | null): Watched => {
    return { state, sinceMs, notified, dueMs };
  };
  it.each<[string, Watched | null, Watched["state"], Watched | null]>([
    ["of a machine that was well → after the delay", null, "silent", watched("silent", null, 150 * SECOND)],
    [
      "while another state waits → no later than that one",
      watched("not-ready", null, 110 * SECOND),
      "silent",
      watched("silent", null, 110 * SECOND),
    ],
    [
      "while another state waits for longer → after the delay",
      watched("not-ready", null, 200 * SECOND),
      "silent",
      watched("silent", null, 150 * SECOND),
    ],
    [
      "after another state, which needed no message → after the delay",
      watched("not-ready", null, null),
      "silent",
      watched("silent", null, 150 * SECOND),
    ],
    [
      "after an alert, while another state waits → after the delay",
      watched("silent", "not-ready", 110 * SECOND),
      "blocked",
      watched("blocked", "not-ready", 150 * SECOND),
    ],
    ["well, before an alert → not at all", watched("silent", null, 110 * SECOND), null, null],
    [
      "well, after an alert → once it has settled",
      watched("silent", "silent", null),
      null,
      watched(null, "silent", 105 * SECOND),
    ],
    [
      "as alerted, again → not at all",
      watched(null, "silent", 105 * SECOND),
      "silent",
      watched("silent", "silent", null),
    ],
  ])("%s", (_, known, state, expected) => {
    expect(watchedAfter(known, { state, sinceMs }, { delayMs, nowMs })).toEqual(expected);
  });
});

it("a state that began longer ago than the delay, without an alert → the receiver is notified now", () => {
  const next = watchedAfter(null, { state: "silent", sinceMs: 0 }, { delayMs: MINUTE, nowMs: 100 * SECOND });
  expect(next?.dueMs).toBe(100 * SECOND);
});
