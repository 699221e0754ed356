// Tests the counts of plugins' devices, which are like those of upstream's device manager. Needs no plugin and no
// clock.
import { expect, test } from "vitest";
import { deviceResources, STOP_GRACE_MS } from "../../../../node-shim/sources/devices/resources.ts";
import { FACTS_LIMITS } from "../../../../shared/protocol/limits.ts";
import { factsSchema } from "../../../../shared/protocol/facts.ts";

const EMPTY = { registered: [], removed: [] };
const devices = (...list: [ID: string, health: string][]) => list.map(([ID, health]) => ({ ID, health }));

test.each<[situation: string, list: { ID: string; health: string }[], counts: number[], lost: number]>([
  ["healthy and not", devices(["a", "Healthy"], ["b", "Unhealthy"]), [2, 1], 2],
  ["the same device twice", devices(["a", "Healthy"], ["a", "Healthy"]), [1, 1], 1],
  ["one device with two health values", devices(["a", "Healthy"], ["a", "Unhealthy"]), [2, 1], 1],
  ["healthy in another case", devices(["a", "healthy"], ["b", ""]), [2, 0], 2],
  ["none", [], [0, 0], 0],
])("$0 → [capacity, allocatable] $2, and $3 unhealthy once it is lost", (_situation, list, counts, lost) => {
  const resources = deviceResources(EMPTY, () => 0);
  const seen = () => {
    const { capacity, allocatable } = resources.counts();
    return [capacity["x.io/y"], allocatable["x.io/y"]];
  };
  resources.connected("x.io/y", "a.sock");
  expect(resources.counts()).toEqual({ capacity: {}, allocatable: {}, removed: [] });
  resources.listed("x.io/y", list);
  expect(seen()).toEqual(counts);
  resources.lost("x.io/y", "a.sock");
  expect(seen()).toEqual([lost, 0]);
  // The plugin connects again, and has not sent its list yet.
  resources.connected("x.io/y", "a.sock");
  expect(seen()).toEqual([lost, 0]);
});

test("lost before it sent its list → 0, then removed; connects again → no longer removed", () => {
  let nowMs = 0;
  const resources = deviceResources(EMPTY, () => nowMs);
  resources.connected("x.io/y", "a.sock");
  resources.lost("x.io/y", "a.sock");
  expect(resources.counts()).toEqual({ capacity: { "x.io/y": 0 }, allocatable: {}, removed: [] });
  nowMs = STOP_GRACE_MS + 1;
  expect(resources.counts()).toEqual({ capacity: {}, allocatable: {}, removed: ["x.io/y"] });
  resources.connected("x.io/y", "a.sock");
  expect(resources.counts()).toEqual({ capacity: {}, allocatable: {}, removed: [] });
});

test.each([
  [127, 128],
  [128, 128],
])(
  "%i removed earlier and one more → %i in the facts, which are accepted; the newest stays",
  (before, most) => {
    let nowMs = 0;
    const removed = Array.from({ length: before }, (_, index) => `x.io/r${index}`);
    const resources = deviceResources({ registered: ["x.io/last"], removed }, () => nowMs);
    nowMs = STOP_GRACE_MS + 1;
    const counts = resources.counts();
    expect(counts.removed).toHaveLength(most);
    expect(counts.removed.at(-1)).toBe("x.io/last");
    expect(resources.known()).toEqual({ registered: [], removed: counts.removed });
    expect(factsSchema.shape.devices.safeParse({ ...counts, recorded: true }).error).toBeUndefined();
  },
);

test("as many resources as the facts can contain → no room for another, except for one of them", () => {
  const resources = deviceResources(EMPTY, () => 0);
  for (let index = 1; index < FACTS_LIMITS.extendedResources; index++)
    resources.connected(`x.io/r${index}`, "a.sock");
  expect(resources.hasRoomFor("x.io/new")).toBe(true);
  resources.connected("x.io/new", "a.sock");
  expect(resources.hasRoomFor("x.io/other")).toBe(false);
  expect(resources.hasRoomFor("x.io/new")).toBe(true);
});
