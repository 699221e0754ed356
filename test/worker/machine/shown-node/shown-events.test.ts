// Tests a machine's events as operators see them: waiting and sent events in one order.
import { expect, it } from "vitest";
import type { EventCorrelator } from "../../../../shared/events/correlator.ts";
import { SHOWN_LIMITS } from "../../../../shared/protocol/limits.ts";
import { shownEvents } from "../../../../worker/machine/shown-node.ts";

const START_MS = Date.UTC(2026, 0, 1);

/** Returns waiting events at these seconds, oldest first. */
const waiting = (...seconds: number[]) => ({
  latest: (limit: number) =>
    seconds
      .toReversed()
      .slice(0, limit)
      .map((second) => ({
        type: "Warning",
        reason: "Rebooted",
        message: `waits ${second}`,
        atMs: START_MS + second * 1000,
      })),
});
function sent(...seconds: number[]): EventCorrelator {
  const source = ["rollcall", "edge-1", "Node", "", "edge-1", "", "edge-1", "v1"];
  const observations = seconds.map((second) => {
    const time = new Date(START_MS + second * 1000).toISOString();
    const key = [...source, "Normal", "NodeReady", `sent ${second}`].join("\n");
    const known = { name: `e${second}`, count: 2, firstTimestamp: time, lastTimestamp: time };
    return [key, { ...known, resourceVersion: "1" }] as const;
  });
  return { aggregates: {}, observations: Object.fromEntries(observations), buckets: {} };
}
const messages = (...shown: Parameters<typeof shownEvents>) =>
  shownEvents(...shown).map(({ message }) => message);
const upTo = (count: number) => Array.from({ length: count }, (_, second) => second);

it.each<[situation: string, outbox: number[], correlator: EventCorrelator | undefined, shown: string[]]>([
  ["nothing", [], undefined, []],
  ["those that wait → the newest first", [1, 2], undefined, ["waits 2", "waits 1"]],
  ["those that were sent → the newest first", [], sent(1, 2), ["sent 2", "sent 1"]],
  ["both → by their last time", [1, 3], sent(2, 4), ["sent 4", "waits 3", "sent 2", "waits 1"]],
  ["of one time → what waits is newer", [1], sent(1), ["waits 1", "sent 1"]],
])("%s", (_, outbox, correlator, shown) => {
  expect(messages(waiting(...outbox), correlator)).toEqual(shown);
});

it("each with its content, its count, and whether the apiserver has it", () => {
  expect(shownEvents(waiting(1), sent(0))).toEqual([
    {
      type: "Warning",
      reason: "Rebooted",
      message: "waits 1",
      count: 1,
      firstAt: "2026-01-01T00:00:01.000Z",
      lastAt: "2026-01-01T00:00:01.000Z",
      state: "waiting",
    },
    {
      type: "Normal",
      reason: "NodeReady",
      message: "sent 0",
      count: 2,
      firstAt: "2026-01-01T00:00:00.000Z",
      lastAt: "2026-01-01T00:00:00.000Z",
      state: "sent",
    },
  ]);
});

it.each([
  ["at the limit → all", SHOWN_LIMITS.events, 0],
  ["one over it → not the oldest", SHOWN_LIMITS.events + 1, 1],
])("%s", (_, count, oldest) => {
  for (const shown of [
    messages(waiting(...upTo(count)), undefined),
    messages(waiting(), sent(...upTo(count))),
  ]) {
    expect(shown).toHaveLength(SHOWN_LIMITS.events);
    expect(shown.at(-1)).toMatch(new RegExp(` ${oldest}$`));
  }
});

it("one without a time from the apiserver → shown as the oldest", () => {
  const correlator = sent(1);
  for (const observation of Object.values(correlator.observations))
    Object.assign(observation, { firstTimestamp: "", lastTimestamp: "" });
  expect(shownEvents(waiting(), correlator)).toMatchObject([{ lastAt: "1970-01-01T00:00:00.000Z" }]);
});
