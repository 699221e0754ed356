// What of the fleet is shown, as the URL has it. Pure.
import { FLEET_STATES, type FleetState } from "../../../shared/fleet/state.ts";

/** By what the table can be ordered: its columns. `state` is by urgency, then by name. */
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

export const ROW_MODES = ["scroll", "pages"] as const;
export type RowMode = (typeof ROW_MODES)[number];

export interface FleetQuery {
  /** The search field, as it was typed. */
  text: string;
  /** Empty: all. */
  states: ReadonlySet<FleetState>;
  /** ID; null: machines of any, or none. */
  outage: number | null;
  sort: FleetSort;
  isDescending: boolean;
  mode: RowMode;
  /** From 1; of `pages`. */
  page: number;
}

/** Of PageRoute.rest. What cannot be read is as if it were not there. */
export function fleetQueryOf(rest: ReadonlyMap<string, string>): FleetQuery {
  const sort = rest.get("sort") ?? "";
  const states = (rest.get("state") ?? "").split(",");
  return {
    text: rest.get("q") ?? "",
    states: new Set(FLEET_STATES.filter((state) => states.includes(state))),
    outage: wholeNumber(rest.get("outage")),
    sort: FLEET_SORTS.find((each) => each === sort.replace(/^-/, "")) ?? "state",
    isDescending: sort.startsWith("-"),
    mode: ROW_MODES.find((each) => each === rest.get("rows")) ?? "scroll",
    page: wholeNumber(rest.get("page")) ?? 1,
  };
}

/** The changes of withRest by which the URL shows this. Another filter or order begins on the first page. */
export function restOf(query: FleetQuery): Record<string, string | undefined> {
  const sort = `${query.isDescending ? "-" : ""}${query.sort}`;
  return {
    q: query.text || undefined,
    state: [...query.states].join() || undefined,
    outage: query.outage === null ? undefined : String(query.outage),
    sort: sort === "state" ? undefined : sort,
    rows: query.mode === "scroll" ? undefined : query.mode,
    page: query.page === 1 ? undefined : String(query.page),
  };
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}
