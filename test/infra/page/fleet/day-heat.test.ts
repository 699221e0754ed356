// Tests how the map of the last day counts machines that were not ready, and how equal changes are joined.
import { describe, expect, it } from "vitest";
import {
  foldedChanges,
  heatLevel,
  heatRows,
  HOUR_MS,
  lastHours,
  stateChanges,
} from "../../../../infra/page/fleet/day-heat.ts";
import { type FleetState, stateChangeText } from "../../../../shared/fleet/state.ts";
import type { FleetHistoryEntry } from "../../../../shared/protocol/fleet-answers.ts";
import { byName, feedMachine } from "../support/feed-machine.ts";

const NOW = Date.parse("2026-11-27T16:30:00Z");
const HOURS = lastHours(NOW);
const hoursAgo = (hours: number) => NOW - hours * HOUR_MS;

const machine = (name: string, site: string, state: FleetState, hours: number) =>
  feedMachine(name, { labels: { site }, state, sinceMs: hoursAgo(hours) });

/** Lines of history, the newest first. */
type Change = readonly [hoursAgo: number, name: string, from: FleetState | null, to: FleetState];
const linesOf = (changes: readonly Change[]): FleetHistoryEntry[] =>
  changes.map(([hours, name, from, to], at) => ({
    id: 1000 - at,
    at: new Date(hoursAgo(hours)).toISOString(),
    name,
    kind: "state",
    text: stateChangeText(from, to),
  }));

describe("the hours", () => {
  it("at half past four → 24 hours of the clock, the last one not over", () => {
    expect(HOURS).toHaveLength(24);
    expect(HOURS.at(-1)).toBe(Date.parse("2026-11-27T16:00:00Z"));
  });
});

/** Returns the counts of the last hours, the latest last, and null where the count is not known. */
function cells(machines: readonly ReturnType<typeof machine>[], changes: readonly Change[], knownHours = 24) {
  const heat = {
    hours: HOURS,
    changes: stateChanges(byName(machines), linesOf(changes)),
    knownFromMs: Math.max(HOURS[0]!, hoursAgo(knownHours)),
  };
  return heatRows(machines, "label:site", heat).map(({ value, cells: all }) => [value, ...all.slice(-5)]);
}

describe("the map", () => {
  it.each<[string, Parameters<typeof cells>, ReturnType<typeof cells>]>([
    [
      "all machines ready all day → none in each hour",
      [[machine("a", "berlin", "ready", 100)], []],
      [
        [null, 0, 0, 0, 0, 0],
        ["berlin", 0, 0, 0, 0, 0],
      ],
    ],
    [
      "silent for two hours, then ready → in the hours of the silence; the group of the silence comes first",
      [
        [machine("a", "berlin", "ready", 100), machine("b", "bonn", "ready", 1)],
        [
          [1, "b", "silent", "ready"],
          [3, "b", "ready", "silent"],
        ],
      ],
      [
        [null, 0, 1, 1, 1, 0],
        ["bonn", 0, 1, 1, 1, 0],
        ["berlin", 0, 0, 0, 0, 0],
      ],
    ],
    [
      "two machines one after the other in an hour → the most at one time",
      [
        [machine("a", "berlin", "ready", 1.1), machine("b", "berlin", "ready", 1.3)],
        [
          [1.1, "a", "silent", "ready"],
          [1.2, "a", "ready", "silent"],
          [1.3, "b", "not-ready", "ready"],
          [1.4, "b", "ready", "not-ready"],
        ],
      ],
      [
        [null, 0, 0, 0, 1, 0],
        ["berlin", 0, 0, 0, 1, 0],
      ],
    ],
    [
      "from one bad state to another → once; enrolled since → not before",
      [
        [machine("a", "berlin", "silent", 1)],
        [
          [1, "a", "not-ready", "silent"],
          [2, "a", null, "not-ready"],
        ],
      ],
      [
        [null, 0, 0, 1, 1, 1],
        ["berlin", 0, 0, 1, 1, 1],
      ],
    ],
    [
      "the feed is newer than the lines → the change has the time of the present state",
      [[machine("a", "berlin", "silent", 0.2)], [[9, "a", null, "ready"]]],
      [
        [null, 0, 0, 0, 0, 1],
        ["berlin", 0, 0, 0, 0, 1],
      ],
    ],
    [
      "a machine that has left → not counted; changes before a time are not known → nor the hours before it",
      [[machine("a", "berlin", "ready", 100)], [[1, "gone", "ready", "silent"]], 2],
      [
        [null, null, null, 0, 0, 0],
        ["berlin", null, null, 0, 0, 0],
      ],
    ],
  ])("%s", (_, given, expected) => expect(cells(...given)).toEqual(expected));

  it.each([
    [0, 100, 0],
    [9, 100, 1],
    [10, 100, 2],
    [49, 100, 2],
    [50, 100, 3],
    [1, 1, 3],
  ])("%i of %i machines → level %i", (count, machines, level) =>
    expect(heatLevel(count, machines)).toBe(level),
  );
});

describe("what changed", () => {
  const line = (id: number, name: string, kind: string, text: string): FleetHistoryEntry => ({
    id,
    name,
    kind,
    text,
    at: `2026-11-27T16:00:0${id}Z`,
  });

  it("the same change of several machines, but for their times → one line, from the oldest to the newest", () => {
    const changes = foldedChanges([
      line(5, "a", "state", "silent → ready"),
      line(4, "c", "silence", "heard of again after 40 s: was cut off, not down"),
      line(3, "b", "version", "0.1.0 → 0.2.0"),
      line(2, "b", "silence", "heard of again after 41 s: was cut off, not down"),
      line(1, "b", "version", "0.1.1 → 0.2.0"),
    ]);
    expect(
      changes.map(({ kind, names, firstAt, lastAt }) => [kind, names, firstAt.at(-2), lastAt.at(-2)]),
    ).toEqual([
      ["state", ["a"], "5", "5"],
      ["silence", ["c", "b"], "2", "4"],
      ["version", ["b"], "3", "3"],
      ["version", ["b"], "1", "1"],
    ]);
  });
});
