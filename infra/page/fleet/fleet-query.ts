// Converts the fleet's search, filters and order to the URL and back, to API parameters, and to a test of machines.
import { OUTAGE_SPAN_MS } from "../../../shared/fleet/outages.ts";
import { networkOf } from "../../../shared/fleet/sort-keys.ts";
import { FLEET_STATES, type FleetState } from "../../../shared/fleet/state.ts";
import type { Outage } from "../../../shared/protocol/outages.ts";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { type MachineTest, machineTest } from "./match-machine.ts";
import type { FleetSearch } from "../../../shared/fleet/search-language.ts";

/** The columns that the table can be sorted by. `state` sorts by urgency, and machines of one state by name. */
export const FLEET_SORTS = [
  "state",
  "name",
  "since",
  "why",
  "version",
  "address",
  "age",
  "skew",
  "transport",
  "kernel",
  "os",
  "runtime",
  "architecture",
  "cpu",
  "memory",
] as const;
export type FleetSort = (typeof FLEET_SORTS)[number];

export interface FleetQuery {
  text: string;
  /** The states to show. Empty for all states. */
  states: ReadonlySet<FleetState>;
  /** The ID of the outage whose machines are shown. null for no such filter. */
  outage: number | null;
  sort: FleetSort;
  isDescending: boolean;
}

/** Parses PageRoute.rest. Ignores invalid values. */
export function fleetQueryOf(rest: ReadonlyMap<string, string>): FleetQuery {
  const sort = rest.get("sort") ?? "";
  const states = (rest.get("state") ?? "").split(",");
  return {
    text: rest.get("q") ?? "",
    states: new Set(FLEET_STATES.filter((state) => states.includes(state))),
    outage: wholeNumber(rest.get("outage")),
    sort: FLEET_SORTS.find((each) => each === sort.replace(/^-/, "")) ?? "state",
    isDescending: sort.startsWith("-"),
  };
}

/** Returns the changes of the URL for withRest. */
export function restOf(query: FleetQuery): Record<string, string | undefined> {
  const sort = `${query.isDescending ? "-" : ""}${query.sort}`;
  return {
    q: query.text || undefined,
    state: [...query.states].join() || undefined,
    outage: query.outage === null ? undefined : String(query.outage),
    sort: sort === "state" ? undefined : sort,
  };
}

/**
 * Returns the parameters of GET /v1/machines, and of the filter of POST /v1/bulk, that match the machines of the
 * query. {} matches every machine; null means that the API cannot express the query. `search` is the parsed text of
 * the query.
 */
export function apiQuery(query: FleetQuery, search: FleetSearch): Record<string, string> | null {
  if (query.outage !== null) return null;
  const states = statesOf(query, search);
  if (states?.size === 0) return null;
  const { state: _, ...parameters } = search.parameters;
  return { ...parameters, ...(states && { state: [...states].join() }) };
}

/** Returns the states that both the search and the buttons allow, or null for all states. */
function statesOf({ states }: FleetQuery, { filter }: FleetSearch): ReadonlySet<FleetState> | null {
  if (!filter.state) return states.size > 0 ? states : null;
  return new Set(filter.state.filter((state) => states.size === 0 || states.has(state)));
}

interface KnownFleet {
  /** Returns the address from which a machine reports. */
  addressOf: (name: string) => string | undefined;
  outageOf: (id: number) => Outage | undefined;
}

/** Returns a function that tests if a machine is shown. `search` is the parsed text of the query. */
export function fleetTest(query: FleetQuery, search: FleetSearch, known: KnownFleet): MachineTest {
  const { state: _, ...filter } = search.filter;
  const states = statesOf(query, search);
  const isFound = machineTest({ ...filter, ...(states && { state: [...states] }) }, known.addressOf);
  if (query.outage === null) return isFound;
  const outage = known.outageOf(query.outage);
  return (machine) => outage !== undefined && isOfOutage(machine, outage) && isFound(machine);
}

/** Returns true for a machine of the outage. An outage lists only its first names; others have its network and time. */
function isOfOutage({ name, state, address, silentSinceMs }: FeedMachine, outage: Outage): boolean {
  if (outage.names.includes(name)) return true;
  if (state !== "silent" || silentSinceMs === null || outage.endedAt !== null) return false;
  const startedMs = Date.parse(outage.startedAt);
  const isThen = silentSinceMs >= startedMs && silentSinceMs <= startedMs + OUTAGE_SPAN_MS;
  return isThen && networkOf(address) === outage.network;
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}
