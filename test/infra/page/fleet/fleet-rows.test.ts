import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FLEET_SORTS, type FleetSort } from "../../../../infra/page/fleet/fleet-query.ts";
import {
  countText,
  firstRows,
  FleetList,
  fleetOrder,
  inTheirPlaces,
  isSameOrder,
  MOST_ROWS,
} from "../../../../infra/page/fleet/fleet-rows.ts";
import type { FeedMachine, FeedUpdate } from "../../../../shared/fleet/feed-view.ts";
import { FLEET_STATES, URGENCY } from "../../../../shared/fleet/state.ts";
import type { MachineSummary } from "../../../../shared/fleet/summary.ts";
import { summaryOf } from "../../../worker/support/made-up-fleet.ts";
import { byName, feedMachine } from "../support/feed-machine.ts";

const BASE = feedMachine("base");
const machineOf = (name: string, state = "ready", sinceMs = 0): FeedMachine => ({
  ...BASE,
  name,
  state,
  sinceMs,
});
const namesOf = (rows: readonly FeedMachine[]) => rows.map(({ name }) => name);
const update = (change: Partial<FeedUpdate>): FeedUpdate => ({
  isWhole: false,
  changed: [],
  gone: [],
  ...change,
});

describe("changes, one message after the other → the same as finding and sorting anew", () => {
  const name = fc.integer({ min: 0, max: 25 }).map((number) => `m${number}`);
  const machine = fc.record({
    name,
    state: fc.constantFrom(...FLEET_STATES),
    sinceMs: fc.integer({ min: 0, max: 3 }),
  });
  const message = fc.record({
    changed: fc.array(machine, { maxLength: 12 }),
    gone: fc.array(name, { maxLength: 4 }),
    isWhole: fc.boolean().map((is) => is && true),
  });
  const isShown = ({ state }: FeedMachine) => state !== "revoked";

  it.each([
    ["state", false],
    ["since", true],
    ["name", true],
  ] as const)("by %s", (sort, isDescending) => {
    fc.assert(
      fc.property(fc.array(machine), fc.array(message, { maxLength: 8 }), (first, messages) => {
        let machines = byName(first.map((each) => machineOf(each.name, each.state, each.sinceMs)));
        const order = fleetOrder(sort, isDescending);
        const list = new FleetList(machines, isShown, order);
        for (const { changed, gone, isWhole } of messages) {
          if (isWhole) machines = new Map();
          for (const each of changed) machines.set(each.name, machineOf(each.name, each.state, each.sinceMs));
          for (const each of gone) machines.delete(each);
          list.take(machines, { isWhole, changed: changed.map((each) => each.name), gone });
          expect(list.rows).toEqual(new FleetList(machines, isShown, order).rows);
          expect(list.rows.every((row) => machines.get(row.name) === row)).toBe(true);
        }
      }),
    );
  });
});

it("nothing of what is shown has changed → the same array; else another one", () => {
  const machines = byName([machineOf("a"), machineOf("b", "revoked")]);
  const list = new FleetList(machines, ({ state }) => state === "ready", fleetOrder("name", false));
  const { rows } = list;
  machines.set("b", machineOf("b", "silent"));
  list.take(machines, update({ changed: ["b"], gone: ["never there"] }));
  expect(list.rows).toBe(rows);
  machines.set("b", machineOf("b"));
  list.take(machines, update({ changed: ["b"] }));
  expect(rows).toHaveLength(1);
  expect(namesOf(list.rows)).toEqual(["a", "b"]);
});

it("rows that somebody points at → stay in their places, and say what is so now", () => {
  const shown = [machineOf("b"), machineOf("a"), machineOf("gone")];
  const machines = byName([machineOf("a", "silent"), machineOf("b"), machineOf("new")]);
  const rows = inTheirPlaces(shown, machines);
  expect(rows.map(({ name, state }) => `${name} ${state}`)).toEqual(["b ready", "a silent", "gone ready"]);
});

it.each([
  ["the same", ["a", "b"], ["a", "b"], true],
  ["nobody", [], [], true],
  ["another order", ["a", "b"], ["b", "a"], false],
  ["one more", ["a"], ["a", "b"], false],
  ["one less", ["a", "b"], ["a"], false],
])("%s → is it the same order?", (_, shown, now, is) => {
  const machines = (names: string[]) => names.map((name) => machineOf(name));
  expect(isSameOrder(machines(shown), machines(now))).toBe(is);
});

describe("too many to show", () => {
  const many = Array.from({ length: MOST_ROWS + 1 }, () => BASE);
  it("as many as a table can have → all of them", () => {
    const rows = many.slice(1);
    expect(firstRows(rows)).toBe(rows);
    expect(countText(MOST_ROWS, MOST_ROWS)).toBe("50,000 machines");
  });

  it("one more → the first ones, and it is said", () => {
    expect(firstRows(many)).toHaveLength(MOST_ROWS);
    expect(countText(MOST_ROWS + 1, 60_000)).toBe(
      "50,001 of 60,000 machines: too many to show. Here are the first 50,000; search for fewer.",
    );
  });
});

it.each([
  [0, 0, "0 machines"],
  [1, 1, "1 machine"],
  [0, 1, "0 of 1 machine"],
  [79, 10_000, "79 of 10,000 machines"],
])("%d of %d → said so", (matching, all, said) => {
  expect(countText(matching, all)).toBe(said);
});

const { versions } = summaryOf(1);
const names = (machines: readonly FeedMachine[], sort: FleetSort, isDescending = false) => {
  const { entryOf, compare } = fleetOrder(sort, isDescending);
  return machines
    .map(entryOf)
    .sort(compare)
    .map(({ machine }) => machine.name);
};
const aBC = (change: (name: string) => Partial<MachineSummary>) =>
  ["c", "a", "b"].map((name) => feedMachine(name, change(name)));

it.each([
  [
    ["edge-10", "edge-2", "edge-1", "edge-100"],
    ["edge-1", "edge-2", "edge-10", "edge-100"],
  ],
  [
    ["a-2-b-10", "a-2-b-9", "a-10-b-1"],
    ["a-2-b-9", "a-2-b-10", "a-10-b-1"],
  ],
  [
    ["edge-1", "edge-01", "edge-001"],
    ["edge-001", "edge-01", "edge-1"],
  ],
  [
    ["b", "10", "9", "a"],
    ["9", "10", "a", "b"],
  ],
])("names by their numbers: %j", (given, expected) => {
  const machines = given.map((name) => feedMachine(name));
  expect(names(machines, "name")).toEqual(expected);
  expect(names(machines, "name", true)).toEqual(expected.toReversed());
  // Machines of one state are in the order of their names too.
  expect(names(machines, "state")).toEqual(expected);
});

it("by state: what has to be looked at first, each by name; a state that nobody knows before all", () => {
  const machines = URGENCY.flatMap((state) =>
    ["b", "a"].map((name) => feedMachine(`${state} ${name}`, { state })),
  );
  const strange = { ...feedMachine("strange"), state: "on fire" };
  const expected = URGENCY.flatMap((state) => [`${state} a`, `${state} b`]);
  expect(names([...machines.toReversed(), strange], "state")).toEqual(["strange", ...expected]);
  const reversed = URGENCY.toReversed().flatMap((state) => [`${state} a`, `${state} b`]);
  expect(names([...machines, strange], "state", true)).toEqual([...reversed, "strange"]);
});

it.each<[FleetSort, (name: string) => Partial<MachineSummary>]>([
  ["name", () => ({})],
  ["since", (name) => ({ sinceMs: { a: 1, b: 2, c: 30 }[name]! })],
  ["why", (name) => ({ why: name })],
  [
    "version",
    (name) => ({ versions: { ...versions, shim: { a: "0.2.0", b: "0.10.0", c: "1.0.0-rc.1" }[name]! } }),
  ],
  ["address", (name) => ({ address: { a: "9.1.1.1", b: "10.1.1.1", c: "2001:db8::1" }[name]! })],
  ["skew", (name) => ({ skewMs: { a: 0, b: -70_000, c: 90_000 }[name]! })],
  [
    "kernel",
    (name) => ({ versions: { ...versions, kernel: { a: "5.9.1", b: "5.10.1", c: "6.1.0" }[name]! } }),
  ],
  ["cpu", (name) => ({ capacity: { cpu: { a: "4", b: "8", c: "16" }[name]! } })],
  ["memory", (name) => ({ capacity: { memory: { a: "900000Ki", b: "2Gi", c: "4000000Ki" }[name]! } })],
])("by %s → the least first, and reversed", (sort, change) => {
  expect(names(aBC(change), sort)).toEqual(["a", "b", "c"]);
  expect(names(aBC(change), sort, true)).toEqual(["c", "b", "a"]);
});

it.each(["age", "cpu", "memory"] as const)(
  "by %s, where it is not known → the last in both directions",
  (sort) => {
    const machines = [
      feedMachine("a", { capacity: {}, createdMs: 0 }),
      { ...feedMachine("b"), createdMs: 5 },
    ];
    expect(names(machines, sort)).toEqual(["b", "a"]);
    expect(names(machines, sort, true)).toEqual(["b", "a"]);
  },
);

it("by age → the youngest first", () => {
  const machines = [1, 3, 2].map((createdMs) => ({ ...feedMachine(`at ${createdMs}`), createdMs }));
  expect(names(machines, "age")).toEqual(["at 3", "at 2", "at 1"]);
});

it.each(FLEET_SORTS)("by %s, all being equal → by name", (sort) => {
  expect(
    names(
      aBC(() => ({})),
      sort,
    ),
  ).toEqual(["a", "b", "c"]);
});
