// By what machines are ordered. Every order is total: machines that are equal in it follow by their names.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { addressKey, versionKey } from "../../../shared/fleet/sort-keys.ts";
import { URGENCY } from "../../../shared/fleet/state.ts";
import { amountOf } from "../base/amounts.ts";
import type { FleetSort } from "./fleet-query.ts";

export type SortKey = string | number;

/** A state of a newer Worker comes first: nobody knows how urgent it is. */
const rankOf = (state: string) => (URGENCY as readonly string[]).indexOf(state);

/** What is not known is the last, in both directions of a number. */
const NOT_KNOWN = Number.POSITIVE_INFINITY;

const KEYS: Readonly<Record<FleetSort, (machine: FeedMachine) => SortKey>> = {
  state: ({ state }) => rankOf(state),
  name: ({ name }) => name,
  since: ({ sinceMs }) => sinceMs,
  why: ({ why }) => why,
  version: ({ versions }) => versionKey(versions.shim),
  address: ({ address }) => addressKey(address),
  // The youngest first, as numbers of days go.
  age: ({ createdMs }) => -(createdMs ?? -NOT_KNOWN),
  skew: ({ skewMs }) => Math.abs(skewMs),
  transport: ({ transport }) => transport,
  kernel: ({ versions }) => versionKey(versions.kernel) || versions.kernel,
  os: ({ versions }) => versions.os,
  runtime: ({ versions }) => versions.runtime,
  architecture: ({ versions }) => versions.architecture,
  cpu: ({ capacity }) => amountOf(capacity["cpu"]) ?? NOT_KNOWN,
  memory: ({ capacity }) => amountOf(capacity["memory"]) ?? NOT_KNOWN,
};

/** A machine, and what it is ordered by. */
export interface OrderedMachine {
  machine: FeedMachine;
  key: SortKey;
}

export interface FleetOrder {
  keyOf: (machine: FeedMachine) => SortKey;
  compare: (a: OrderedMachine, b: OrderedMachine) => number;
}

/** Only a machine and itself are equal. */
export function fleetOrder(sort: FleetSort, isDescending: boolean): FleetOrder {
  const sign = isDescending ? -1 : 1;
  return {
    keyOf: KEYS[sort],
    compare(a, b) {
      if (a.key !== b.key) {
        if (a.key === NOT_KNOWN || b.key === NOT_KNOWN) return a.key === NOT_KNOWN ? 1 : -1;
        return a.key < b.key ? -sign : sign;
      }
      if (a.machine.name === b.machine.name) return 0;
      // Most urgent first or last, the names are read from the top.
      return (a.machine.name < b.machine.name ? -1 : 1) * (sort === "name" ? sign : 1);
    },
  };
}
