import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { URGENCY } from "../../../../shared/fleet/state.ts";
import {
  type Folds,
  foldsOf,
  foldsText,
  heldPlaces,
  keyOf,
  NEEDS_LISTED,
  type NeedsGroup,
  type NeedsKind,
  needsList,
  sinceOf,
  unlessSame,
} from "../../../../infra/page/fleet/needs-list.ts";
import type { FeedMachine } from "../../../../shared/fleet/feed-view.ts";
import { OUTAGE_SPAN_MS } from "../../../../shared/fleet/outages.ts";
import { FLEET_STATES } from "../../../../shared/fleet/state.ts";
import type { PendingMachine } from "../../../../shared/protocol/operator-answers.ts";
import type { Outage } from "../../../../shared/protocol/outages.ts";
import { feedMachine, pendingMachine } from "./feed-machines.ts";

const T = Date.parse("2026-11-23T14:00:00Z");

const outageAt = (id: number, change: Partial<Outage> = {}): Outage => ({
  id,
  network: "203.0.113.7",
  startedAt: new Date(T).toISOString(),
  endedAt: null,
  machines: 2,
  silent: 2,
  names: [],
  was: "",
  ...change,
});
const silent = (name: string, sinceMs: number, address = "203.0.113.7") =>
  feedMachine(name, { state: "silent", sinceMs: sinceMs + 40_000, silentSinceMs: sinceMs, address });

/** Returns the names of the machines in each group. */
function placesIn(groups: readonly NeedsGroup[]): Record<string, string[]> {
  const nameOf = (entry: { name: string } | { machines: readonly FeedMachine[] }) =>
    "machines" in entry ? entry.machines.map(({ name }) => name) : [entry.name];
  return Object.fromEntries(
    groups.map((group) => [
      group.kind,
      "entries" in group ? group.entries.flatMap(nameOf) : [`${group.count} machines`],
    ]),
  );
}
const fleetOf = (machines: FeedMachine[], outages: Outage[] = [], pending: PendingMachine[] = []) => ({
  machines,
  outages,
  pending,
});

const MAINTAINED = { Ready: "True", MaintenanceInProgress: "True" };

describe("in which group a machine is", () => {
  const one = (change: Partial<FeedMachine>) =>
    Object.keys(placesIn(needsList(fleetOf([feedMachine("edge-1", change)]))));

  it.each<[string, Partial<FeedMachine>, NeedsKind[]]>([
    ["ready", {}, []],
    ["ready, and its clock is wrong", { skewMs: -90_000 }, ["skewed"]],
    ["ready, and under pressure", { conditions: { Ready: "True", DiskPressure: "True" } }, ["conditions"]],
    ["ready, and all is well", { conditions: { Ready: "True", DiskPressure: "False" } }, []],
    [
      "ready, under pressure, and its clock is wrong",
      { conditions: { Ready: "True", DiskPressure: "True" }, skewMs: 90_000 },
      ["conditions"],
    ],
    [
      "silent, and it was under pressure",
      { state: "silent", conditions: { Ready: "Unknown", DiskPressure: "Unknown" } },
      ["silent"],
    ],
    ["blocked", { state: "blocked", phase: "cloned" }, ["blocked"]],
    ["blocked, and its clock is wrong", { state: "blocked", skewMs: 90_000 }, ["blocked"]],
    ["not ready", { state: "not-ready" }, ["not-ready"]],
    ["silent alone", { state: "silent" }, ["silent"]],
    ["the cluster cannot be written", { state: "cluster-unreachable" }, ["cluster-unreachable"]],
    [
      "the cluster cannot be written, and the machine is not ready",
      {
        state: "not-ready",
        phase: "apiserver unreachable",
        conditions: { Ready: "False", MemoryPressure: "True" },
      },
      ["not-ready"],
    ],
    [
      "the cluster cannot be written, and the machine is under pressure",
      { state: "cluster-unreachable", conditions: { Ready: "True", MemoryPressure: "True" } },
      ["cluster-unreachable", "conditions"],
    ],
    [
      "the cluster cannot be written, and the node controller has set the conditions to Unknown",
      { state: "cluster-unreachable", conditions: { Ready: "Unknown", MemoryPressure: "Unknown" } },
      ["cluster-unreachable"],
    ],
    ["silent, in maintenance", { state: "silent", conditions: MAINTAINED }, []],
    ["ready, under pressure, in maintenance", { conditions: { ...MAINTAINED, DiskPressure: "True" } }, []],
    [
      "ready, and its maintenance is planned",
      { conditions: { Ready: "True", MaintenancePlanned: "True" } },
      [],
    ],
    [
      "the cluster cannot be written, and the machine is drained",
      { state: "cluster-unreachable", conditions: { Ready: "True", Drained: "True" } },
      ["cluster-unreachable"],
    ],
    ["revoked: nothing is to be done", { state: "revoked" }, []],
    ["a state of a newer Worker", { state: "on-fire" }, ["not-ready"]],
  ])("%s", (_, change, groups) => {
    expect(one(change)).toEqual(groups);
  });
});

describe("which silent machines an outage has", () => {
  it.each<[string, FeedMachine, Outage[], string]>([
    ["it began with it", silent("a", T), [outageAt(1)], "outage"],
    ["within a minute of it", silent("a", T + OUTAGE_SPAN_MS), [outageAt(1)], "outage"],
    ["later", silent("a", T + OUTAGE_SPAN_MS + 1), [outageAt(1)], "silent"],
    ["before", silent("a", T - 1), [outageAt(1)], "silent"],
    ["behind another address", silent("a", T, "203.0.113.8"), [outageAt(1)], "silent"],
    [
      "in the same 64 bits of IPv6",
      silent("a", T, "2001:db8:1:2::9"),
      [outageAt(1, { network: "2001:db8:1:2::/64" })],
      "outage",
    ],
    ["nobody knows its address", silent("a", T, ""), [outageAt(1, { network: "" })].slice(1), "silent"],
    ["the outage is over", silent("a", T), [outageAt(1, { endedAt: "2026-11-23T14:30:00Z" })], "silent"],
    ["it is the last of the outage", silent("a", T), [outageAt(1, { silent: 1, machines: 9 })], "silent"],
    [
      "when its silence began counts, and not when it was noticed",
      feedMachine("a", { state: "silent", sinceMs: T, silentSinceMs: T - 61_000, address: "203.0.113.7" }),
      [outageAt(1)],
      "silent",
    ],
  ])("%s", (_, machine, outages, group) => {
    expect(placesIn(needsList(fleetOf([machine], outages)))).toMatchObject({ [group]: ["a"] });
  });

  it("of two of one network that overlap, the later one", () => {
    const outages = [outageAt(1), outageAt(2, { startedAt: new Date(T + 30_000).toISOString() })];
    const groups = needsList(fleetOf([silent("a", T + 29_999), silent("b", T + 30_000)], outages));
    const machinesOf = groups.flatMap((group) =>
      group.kind === "outage"
        ? group.entries.map(({ outage, machines }) => [outage.id, ...machines.map(({ name }) => name)])
        : [],
    );
    expect(machinesOf).toEqual([
      [2, "b"],
      [1, "a"],
    ]);
  });
});

describe("the order", () => {
  it("of groups is by urgency", () => {
    const all = fleetOf(
      [
        feedMachine("a", { skewMs: 90_000 }),
        silent("b", T),
        silent("c", T - 3600_000),
        feedMachine("d", { state: "not-ready" }),
        feedMachine("e", { state: "blocked" }),
        feedMachine("f", { state: "cluster-unreachable", phase: "apiserver refuses" }),
      ],
      [outageAt(1)],
      [pendingMachine("d")],
    );
    expect(placesIn(needsList(all))).toEqual({
      outage: ["b"],
      "cluster-unreachable": ["1 machines"],
      blocked: ["e"],
      "not-ready": ["d"],
      silent: ["c"],
      pending: ["d"],
      skewed: ["a"],
    });
    expect(needsList(all).map(({ kind }) => kind)).toEqual([
      "cluster-unreachable",
      "outage",
      "silent",
      "not-ready",
      "blocked",
      "pending",
      "skewed",
    ]);
  });

  it("of groups is that of the table by state", () => {
    const states = URGENCY.filter((state) => state !== "pending" && state !== "revoked" && state !== "ready");
    const machines = states.map((state) => feedMachine(state, { state })).toReversed();
    expect(needsList(fleetOf(machines)).map(({ kind }) => kind)).toEqual(states);
  });

  it("in a group is by what began last, and of the same time by name", () => {
    const at = (name: string, sinceMs: number) => feedMachine(name, { state: "not-ready", sinceMs });
    const groups = needsList(fleetOf([at("c", T), at("a", T - 1000), at("b", T), at("d", T + 1)]));
    expect(placesIn(groups)).toEqual({ "not-ready": ["d", "b", "c", "a"] });
  });

  it("what is held keeps its place, and what is new comes after it", () => {
    const at = (name: string, sinceMs: number) => feedMachine(name, { state: "not-ready", sinceMs });
    const before = needsList(fleetOf([at("a", T), at("b", T - 1)]));
    const now = fleetOf([at("b", T - 1), at("new", T + 9), at("a", T + 5)]);
    expect(placesIn(needsList(now, heldPlaces(before)))).toEqual({ "not-ready": ["a", "b", "new"] });
    expect(placesIn(needsList(now))).toEqual({ "not-ready": ["new", "a", "b"] });
  });

  it("of the unreachable cluster: since when first, and which phases, the most first", () => {
    const at = (name: string, phase: string, sinceMs: number) =>
      feedMachine(name, { state: "cluster-unreachable", phase, sinceMs, why: `of ${name}` });
    const machines = [at("a", "apiserver refuses", T), at("b", "apiserver unreachable", T - 5)];
    const [group] = needsList(fleetOf([...machines, at("c", "apiserver unreachable", T)]));
    expect(group).toEqual({
      kind: "cluster-unreachable",
      count: 3,
      sinceMs: T - 5,
      phases: [
        { phase: "apiserver unreachable", count: 2, why: "of b" },
        { phase: "apiserver refuses", count: 1, why: "of a" },
      ],
    });
  });
});

describe("how many of a group are listed", () => {
  it.each([
    [NEEDS_LISTED, NEEDS_LISTED],
    [NEEDS_LISTED + 1, NEEDS_LISTED],
  ])("%d → %d", (count, listed) => {
    const machines = Array.from({ length: count }, (_, at) => feedMachine(`m-${at}`, { state: "blocked" }));
    const [group] = needsList(fleetOf(machines));
    expect(group).toMatchObject({ kind: "blocked", count });
    expect(group && "entries" in group && group.entries.length).toBe(listed);
  });
});

describe("nothing is drawn again where the same is listed", () => {
  const machines = [silent("a", T), silent("b", T), feedMachine("c", { state: "blocked" }), feedMachine("d")];
  const before = needsList(fleetOf(machines, [outageAt(1)]));
  const after = (changed: FeedMachine, outage = outageAt(1)) => {
    const others = machines.filter(({ name }) => name !== changed.name);
    return unlessSame(before, needsList(fleetOf([...others, changed], [outage]))) === before;
  };

  it.each<[string, boolean, boolean]>([
    [
      "another label of a machine of which nothing is wrong",
      after(feedMachine("d", { labels: { a: "b" } })),
      true,
    ],
    ["the same told again", after(feedMachine("c", { state: "blocked" })), true],
    ["another reason", after(feedMachine("c", { state: "blocked", why: "cloned" })), false],
    ["it is ready again", after(feedMachine("c")), false],
    ["one more needs somebody", after(feedMachine("d", { state: "blocked" })), false],
    ["another count of an outage", after(feedMachine("d"), outageAt(1, { silent: 3 })), false],
  ])("%s", (_, isSame, expected) => {
    expect(isSame).toBe(expected);
  });
});

describe("of any fleet", () => {
  const address = fc.constantFrom("203.0.113.7", "203.0.113.8", "2001:db8::1", "2001:db8::2", "");
  const time = fc.integer({ min: 0, max: 6 }).map((step) => T + step * 20_000);
  const machine = fc.record({
    state: fc.constantFrom(...FLEET_STATES),
    sinceMs: time,
    silentSinceMs: fc.option(time),
    address,
    skewMs: fc.constantFrom(0, 0, 70_000),
  });
  const outage = fc.record({
    network: fc.constantFrom("203.0.113.7", "2001:db8::/64"),
    startedAt: time.map((ms) => new Date(ms).toISOString()),
    endedAt: fc.constantFrom(null, null, new Date(T).toISOString()),
    silent: fc.integer({ min: 0, max: 3 }),
  });
  const fleet = fc
    .record({ machines: fc.array(machine, { maxLength: 40 }), outages: fc.array(outage, { maxLength: 4 }) })
    .map(({ machines, outages }) =>
      fleetOf(
        machines.map((each, at) => feedMachine(`m-${at}`, each)),
        outages.map((each, at) => outageAt(at + 1, each)),
      ),
    );

  it("each machine is counted once: where something is wrong with it, and only there", () => {
    fc.assert(
      fc.property(fleet, ({ machines, outages }) => {
        const groups = needsList(fleetOf(machines, outages));
        const inOutages = groups.flatMap((group) =>
          group.kind === "outage" ? group.entries.flatMap((entry) => entry.machines) : [],
        );
        const counts = groups.map((group) => (group.kind === "outage" ? 0 : group.count));
        const wrong = machines.filter(({ state, skewMs }) =>
          state === "ready" ? skewMs !== 0 : state !== "revoked" && state !== "pending",
        );
        expect(inOutages.length + counts.reduce((sum, count) => sum + count, 0)).toBe(wrong.length);
        const listed = groups.flatMap((group) =>
          "entries" in group && group.kind !== "outage" ? group.entries.map(({ name }) => name) : [],
        );
        const names = [...inOutages.map(({ name }) => name), ...listed];
        expect(new Set(names).size).toBe(names.length);
        const isListed = (name: string) => names.includes(name);
        expect(
          machines.filter(({ name, state, skewMs }) => isListed(name) && state === "ready" && skewMs === 0),
        ).toEqual([]);
      }),
    );
  });

  it("the first of a group are those of all of it in order, however they came", () => {
    fc.assert(
      fc.property(fleet, fc.nat(), ({ machines, outages }, turn) => {
        const turned = machines.map((_, at) => machines[(at + turn) % machines.length]!);
        const groups = needsList(fleetOf(machines, outages));
        expect(needsList(fleetOf(turned, outages))).toEqual(groups);
        for (const group of groups) {
          if (!("entries" in group)) continue;
          const times = group.entries.map(sinceOf);
          expect(times).toEqual(times.toSorted((a, b) => b - a));
        }
      }),
    );
  });

  it("what is held and is in its group still does not change places", () => {
    fc.assert(
      fc.property(fleet, fleet, (before, after) => {
        const held = heldPlaces(needsList(before));
        for (const group of needsList(after, held)) {
          if (!("entries" in group)) continue;
          const keys = group.entries.map((entry) => keyOf(group.kind, entry));
          const places = keys.map((key) => held.get(key) ?? Infinity);
          expect(places).toEqual(places.toSorted((a, b) => a - b));
        }
      }),
    );
  });
});

const NOTHING: Folds = new Map();

describe("what somebody has chosen is kept as a text", () => {
  const kinds: NeedsKind[] = ["blocked", "silent"];

  it("and read again", () => {
    const chosen: Folds = new Map([
      ["blocked", false],
      ["silent", true],
    ]);
    expect(foldsOf(foldsText(chosen), kinds)).toEqual(chosen);
  });

  it.each(["", "blocked", "blocked=maybe nonsense=open"])("of %o nothing was chosen", (text) => {
    expect(foldsOf(text, kinds)).toEqual(NOTHING);
  });
});
