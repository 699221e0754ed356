// Tests the number of silent Nodes that stops evictions, and the rate of evictions below that number.
import { describe, expect, test } from "vitest";
import {
  createTaintQueue,
  evictionRate,
  judgeDisruption,
  type ZoneState,
  zoneStateOf,
} from "../../../../../infra/local/apiserver/controllers/zones.ts";

function zone(ready: number, dark: number): string[] {
  return [...Array.from({ length: ready }, () => "True"), ...Array.from({ length: dark }, () => "Unknown")];
}

test.each([
  { ready: 1, dark: 0, state: "Normal" },
  { ready: 0, dark: 1, state: "FullDisruption" },
  { ready: 0, dark: 0, state: "Normal" },
  { ready: 1, dark: 2, state: "Normal" },
  { ready: 2, dark: 3, state: "PartialDisruption" },
  { ready: 3, dark: 3, state: "Normal" },
  { ready: 45, dark: 55, state: "PartialDisruption" },
  { ready: 46, dark: 54, state: "Normal" },
])("$ready Ready and $dark dark → $state", ({ ready, dark, state }) => {
  expect(zoneStateOf(zone(ready, dark))).toBe(state);
});

test.each([
  { state: "Normal", nodes: 1_000, rate: 0.1 },
  { state: "PartialDisruption", nodes: 50, rate: 0 },
  { state: "PartialDisruption", nodes: 51, rate: 0.01 },
  { state: "FullDisruption", nodes: 10, rate: 0.1 },
] as const)("$state, $nodes Nodes → $rate a second", ({ state, nodes, rate }) => {
  expect(evictionRate(state, nodes)).toBe(rate);
});

test.each<{ situation: string; before: ZoneState[]; after: ZoneState[]; judged: string }>([
  { situation: "one goes dark", before: ["Normal"], after: ["FullDisruption"], judged: "darken" },
  { situation: "still dark", before: ["FullDisruption"], after: ["FullDisruption"], judged: "none" },
  { situation: "light again", before: ["FullDisruption"], after: ["Normal"], judged: "brighten" },
  {
    situation: "one of two is dark",
    before: ["Normal", "Normal"],
    after: ["Normal", "FullDisruption"],
    judged: "each zone",
  },
  { situation: "no Nodes", before: [], after: [], judged: "none" },
])("$situation → $judged", ({ before, after, judged }) => {
  const zones = (states: ZoneState[]) => new Map(states.map((state, index) => [String(index), state]));
  expect(judgeDisruption(zones(before), zones(after))).toBe(judged);
});

describe("the queue for NoExecute", () => {
  test("one at once, then one in 10 s", () => {
    const queue = createTaintQueue(0.1);
    for (const name of ["a", "b"]) queue.add(name);
    expect([queue.next(0), queue.next(9_999), queue.next(10_000)]).toEqual(["a", undefined, "b"]);
  });

  test("a Node is taken once until it is removed", () => {
    const queue = createTaintQueue(100);
    queue.add("a");
    expect(queue.next(0)).toBe("a");
    queue.add("a");
    expect(queue.next(1_000)).toBeUndefined();
    queue.remove("a");
    queue.add("a");
    expect(queue.next(2_000)).toBe("a");
  });

  test("stopped, nobody is taken; going on starts with the wait", () => {
    const queue = createTaintQueue(0.1);
    queue.setRate(0, 0);
    queue.add("a");
    expect(queue.next(60_000)).toBeUndefined();
    queue.setRate(0.1, 60_000);
    expect([queue.next(60_000), queue.next(70_000)]).toEqual([undefined, "a"]);
  });
});
