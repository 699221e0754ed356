// Tests how many requests and frames a server may cause.
import { expect, test } from "vitest";
import { gatewayPace } from "../../../node-shim/worker-link/pace.ts";

/** Returns the clock, and `note`, which counts `count` requests at once and returns the wait after them. */
function paced(intervalMs?: number) {
  const clock = { nowMs: 5000 };
  const pace = gatewayPace(() => clock.nowMs, intervalMs);
  const note = (count: number) => {
    for (let n = 0; n < count; n++) pace.note();
    return pace.waitMs();
  };
  return { clock, note };
}

test("19 at once → no wait; the 20th → the next a second later, and so on", () => {
  const { note } = paced();
  expect([note(19), note(1), note(1), note(1)]).toEqual([0, 1000, 2000, 3000]);
});

test("all are available again after 20 seconds, and never more than 20", () => {
  const { clock, note } = paced();
  note(20);
  clock.nowMs += 20_000;
  expect(note(19)).toBe(0);
  clock.nowMs += 3_600_000;
  expect([note(19), note(1)]).toEqual([0, 1000]);
});

test.each([
  [10_000, 1000],
  [1000, 1000],
  [250, 250],
])("a configured interval of %i ms → one more every %i ms", (intervalMs, everyMs) => {
  expect(paced(intervalMs).note(20)).toBe(everyMs);
});
