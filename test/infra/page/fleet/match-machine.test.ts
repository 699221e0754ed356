// Tests that the page's search finds the same machines as the fleet index. Compares both with a simple calculation,
// machine by machine.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FLEET_STATES } from "../../../../shared/fleet/state.ts";
import { PHASES } from "../../../../shared/protocol/answers.ts";
import { machinesQuerySchema } from "../../../../shared/protocol/fleet-api.ts";
import { machineTest } from "../../../../infra/page/fleet/match-machine.ts";
import recorded from "../../../vectors/labelSelectors.json";
import { FLEET_START_MS, machineName } from "../../../worker/support/made-up-fleet.ts";
import { isFound, varied, VERSIONS, WORDS } from "../../../worker/support/varied-fleet.ts";
import { feedMachine } from "../support/feed-machine.ts";

const fleet = Array.from({ length: 300 }, (_, index) => {
  const found = varied(index);
  return { ...found, told: feedMachine(found.id, found.summary) };
});
const addressOf = (name: string) => fleet.find(({ id }) => id === name)?.summary.address;
const filterOf = (query: Record<string, string>) => machinesQuerySchema.parse(query);
const found = (query: Record<string, string>) => {
  const test = machineTest(filterOf(query), addressOf);
  return fleet.filter(({ told }) => test(told)).map(({ id }) => id);
};
const expected = (query: Record<string, string>) => {
  const beside = query["beside"] === undefined ? undefined : addressOf(query["beside"]);
  const filter = filterOf(query);
  return fleet.filter((machine) => isFound(machine, filter, beside)).map(({ id }) => id);
};

const some = (values: readonly string[]) =>
  fc.subarray([...values], { minLength: 1 }).map((list) => list.join());
const time = fc.integer({ min: -5, max: 55 }).map((s) => new Date(FLEET_START_MS + s * 1000).toISOString());
const QUERIES = fc.record(
  {
    state: some(FLEET_STATES),
    phase: some(PHASES),
    condition: some([
      "Ready",
      "!Ready",
      "DiskPressure=False",
      "MemoryPressure!=Unknown",
      "None",
      "!None",
      "ready=FALSE",
      "!diskpressure",
    ]),
    selector: some([
      "site=berlin",
      "site!=Bern",
      "site in (7,10)",
      "site notin (berlin,7)",
      "!example.com/slot",
      "example.com/slot>99",
      "kubernetes.io/hostname!=machine-9",
    ]),
    version: fc
      .tuple(fc.constantFrom("", "!=", "<", "<=", ">", ">="), fc.constantFrom(...VERSIONS.slice(0, 6)))
      .map((parts) => parts.join("")),
    token: fc.constantFrom("token-1", "token-2", "token-3"),
    unused: fc.constantFrom("true", "false"),
    text: fc.constantFrom(...WORDS, "InternalIP"),
    since: time,
    until: time,
    beside: fc
      .integer({ min: 0, max: 299 })
      .map(machineName)
      .filter((name) => addressOf(name) !== ""),
  },
  { requiredKeys: [] },
);

it("any filter → the machines that the fleet index finds", () => {
  fc.assert(
    fc.property(QUERIES, (query) => {
      expect(found(query)).toEqual(expected(query));
    }),
    { numRuns: 300 },
  );
});

describe("label selectors → the verdicts of Kubernetes", () => {
  const sets = recorded.cases[0]!.given.labels as unknown as Record<string, string>[];
  const told = sets.map((labels, index) => feedMachine(machineName(index), { labels }));
  const cases = recorded.cases.filter(({ given, want }) => want.matches && given.selector !== "");
  it.each(cases.map(({ given, want }) => [given.selector, want.matches] as const))(
    "%s",
    (selector, matches) => {
      const test = machineTest(filterOf({ selector }), addressOf);
      expect(told.map(test)).toEqual(matches);
    },
  );
});

describe("an address", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7", true],
    ["203.0.113.0/24", "203.0.113.200", true],
    ["203.0.113.0/24", "203.0.114.1", false],
    ["2001:db8::/64", "2001:db8::1", true],
    ["2001:db8::/64", "2001:db8:0:1::1", false],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["0.0.0.0/0", "", false],
  ])("%s, of a machine at %s → %s", (range, address, is) => {
    const test = machineTest(filterOf({ address: range }), addressOf);
    expect(test(feedMachine("a", { address }))).toBe(is);
  });
});

it.each([
  ["whom nobody knows", undefined],
  ["of whom nobody knows the address", ""],
])("beside a machine %s → nobody", (_, address) => {
  const test = machineTest({ beside: "b" }, () => address);
  expect(test(feedMachine("a", { address: "" }))).toBe(false);
});
