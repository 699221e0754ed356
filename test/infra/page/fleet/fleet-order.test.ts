import { expect, it } from "vitest";
import type { FeedMachine } from "../../../../shared/fleet/feed-view.ts";
import type { MachineSummary } from "../../../../shared/fleet/summary.ts";
import { URGENCY } from "../../../../shared/fleet/state.ts";
import { fleetOrder } from "../../../../infra/page/fleet/fleet-order.ts";
import { FLEET_SORTS, type FleetSort } from "../../../../infra/page/fleet/fleet-query.ts";
import { summaryOf } from "../../../worker/support/made-up-fleet.ts";
import { toldMachine } from "../support/told-machine.ts";

const { versions } = summaryOf(1);
const names = (machines: readonly FeedMachine[], sort: FleetSort, isDescending = false) => {
  const { keyOf, compare } = fleetOrder(sort, isDescending);
  return machines
    .map((machine) => ({ machine, key: keyOf(machine) }))
    .sort(compare)
    .map(({ machine }) => machine.name);
};
const aBC = (change: (name: string) => Partial<MachineSummary>) =>
  ["c", "a", "b"].map((name) => toldMachine(name, change(name)));

it("by state: what has to be looked at first, each by name; a state that nobody knows before all", () => {
  const machines = URGENCY.flatMap((state) =>
    ["b", "a"].map((name) => toldMachine(`${state} ${name}`, { state })),
  );
  const strange = { ...toldMachine("strange"), state: "on fire" };
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
      toldMachine("a", { capacity: {}, createdMs: 0 }),
      { ...toldMachine("b"), createdMs: 5 },
    ];
    expect(names(machines, sort)).toEqual(["b", "a"]);
    expect(names(machines, sort, true)).toEqual(["b", "a"]);
  },
);

it("by age → the youngest first", () => {
  const machines = [1, 3, 2].map((createdMs) => ({ ...toldMachine(`at ${createdMs}`), createdMs }));
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
