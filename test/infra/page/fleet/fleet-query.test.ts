import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OUTAGE_SPAN_MS } from "../../../../shared/fleet/outages.ts";
import { FLEET_STATES } from "../../../../shared/fleet/state.ts";
import type { MachineSummary } from "../../../../shared/fleet/summary.ts";
import { machinesQuerySchema } from "../../../../shared/protocol/fleet-api.ts";
import type { Outage } from "../../../../shared/protocol/outages.ts";
import { hrefOf, routeOf } from "../../../../infra/page/base/places.ts";
import {
  apiQuery,
  FLEET_SORTS,
  type FleetQuery,
  fleetQueryOf,
  fleetTest,
  restOf,
} from "../../../../infra/page/fleet/fleet-query.ts";
import { readSearch } from "../../../../shared/fleet/search-language.ts";
import { FLEET_START_MS } from "../../../worker/support/made-up-fleet.ts";
import { feedMachine } from "../support/feed-machine.ts";

const queryOf = (search: string) => fleetQueryOf(routeOf(search).rest);
const USUAL: FleetQuery = queryOf("");

describe("the URL → what is shown", () => {
  it.each<[string, Partial<FleetQuery>]>([
    [
      "",
      {
        text: "",
        states: new Set(),
        outage: null,
        sort: "state",
        isDescending: false,
      },
    ],
    ["?q=site%3Db+x", { text: "site=b x" }],
    ["?state=silent,blocked", { states: new Set(["silent", "blocked"]) }],
    ["?state=silent,asleep", { states: new Set(["silent"]) }],
    ["?outage=17", { outage: 17 }],
    ["?outage=-1", { outage: null }],
    ["?outage=all", { outage: null }],
    ["?sort=-since", { sort: "since", isDescending: true }],
    ["?sort=-state", { sort: "state", isDescending: true }],
    ["?sort=beauty", { sort: "state", isDescending: false }],
  ])("%s", (search, expected) => {
    expect(queryOf(search)).toMatchObject(expected);
  });

  it("and back", () => {
    const query = fc.record({
      text: fc.string(),
      states: fc.subarray([...FLEET_STATES]).map((states) => new Set(states)),
      outage: fc.option(fc.integer({ min: 1, max: 999_999 })),
      sort: fc.constantFrom(...FLEET_SORTS),
      isDescending: fc.boolean(),
    });
    fc.assert(
      fc.property(query, (given) => {
        expect(queryOf(hrefOf({ view: "fleet" }, restOf(given)).slice(1))).toEqual(given);
      }),
    );
  });

  it("the usual view has no query", () => {
    expect(hrefOf({ view: "fleet" }, restOf(USUAL))).toBe("/");
  });
});

describe("the same machines, as the API is asked for them", () => {
  it.each<[string, Record<string, string> | null]>([
    ["", {}],
    ["?q=berlin&sort=-name", { text: "berlin" }],
    ["?state=silent,blocked", { state: "silent,blocked" }],
    ["?q=state:silent+site%3Db", { state: "silent", selector: "site=b" }],
    ["?q=state:silent,ready&state=ready,blocked", { state: "ready" }],
    ["?q=state:silent&state=ready", null],
    ["?outage=4", null],
  ])("%s", (search, expected) => {
    const query = queryOf(search);
    const read = readSearch(query.text, FLEET_START_MS);
    const parameters = read.ok ? apiQuery(query, read.value) : "unread";
    expect(parameters).toEqual(expected);
    if (parameters !== null) expect(machinesQuerySchema.safeParse(parameters).success).toBe(true);
  });
});

const OUTAGE: Outage = {
  id: 4,
  network: "203.0.113.7",
  startedAt: new Date(FLEET_START_MS).toISOString(),
  endedAt: null,
  machines: 12,
  silent: 11,
  names: ["edge-0"],
  was: "",
};

describe("is it shown?", () => {
  const silent = (sinceMs: number, change: Partial<MachineSummary> = {}): Partial<MachineSummary> => ({
    state: "silent",
    address: "203.0.113.7",
    silentSinceMs: sinceMs,
    ...change,
  });
  it.each<[string, string, Partial<MachineSummary>, boolean]>([
    ["any, where nothing is asked", "", {}, true],
    ["of the states that are chosen", "?state=silent,ready", {}, true],
    ["of another state", "?state=silent", {}, false],
    ["of a state that one names and the other does not", "?state=ready&q=state:silent", {}, false],
    ["by the field", "?q=machine", {}, true],
    ["by the field and the state", "?q=nowhere&state=ready", {}, false],
    ["an outage, first silence", "?outage=4", silent(FLEET_START_MS), true],
    ["an outage, last silence", "?outage=4", silent(FLEET_START_MS + OUTAGE_SPAN_MS), true],
    ["an outage, silent later", "?outage=4", silent(FLEET_START_MS + OUTAGE_SPAN_MS + 1), false],
    ["an outage, silent before", "?outage=4", silent(FLEET_START_MS - 1), false],
    ["an outage, elsewhere", "?outage=4", silent(FLEET_START_MS, { address: "203.0.113.8" }), false],
    ["an outage, not silent", "?outage=4", { address: "203.0.113.7" }, false],
    ["an outage, and the field", "?outage=4&q=nowhere", silent(FLEET_START_MS), false],
    ["an outage that nobody knows", "?outage=5", silent(FLEET_START_MS), false],
  ])("%s", (_, search, change, is) => {
    const query = queryOf(search);
    const read = readSearch(query.text, FLEET_START_MS);
    if (!read.ok) throw new Error(read.error.expected);
    const outageOf = (id: number) => (id === OUTAGE.id ? OUTAGE : undefined);
    const test = fleetTest(query, read.value, { addressOf: () => undefined, outageOf });
    expect(test(feedMachine("machine-1", change))).toBe(is);
  });

  it("one of an outage’s names is shown when it is back", () => {
    const outageOf = () => ({ ...OUTAGE, endedAt: OUTAGE.startedAt });
    const test = fleetTest(
      { ...USUAL, outage: 4 },
      { filter: {}, parameters: {}, isRelative: false },
      { addressOf: () => undefined, outageOf },
    );
    expect(["edge-0", "edge-1"].map((name) => test(feedMachine(name)))).toEqual([true, false]);
  });
});
