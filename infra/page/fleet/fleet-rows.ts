// Keeps the list of matching machines up to date with the feed. No row moves while the operator points at the rows.
import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FeedMachine, FeedUpdate } from "../../../shared/fleet/feed-view.ts";
import type { FleetSearch } from "../../../shared/fleet/search-language.ts";
import { addressKey, versionKey } from "../../../shared/fleet/sort-keys.ts";
import { URGENCY } from "../../../shared/fleet/state.ts";
import { amountOf } from "../base/amounts.ts";
import { later } from "../base/clock.ts";
import { usePage } from "../page.ts";
import { type FleetQuery, type FleetSort, fleetTest } from "./fleet-query.ts";
import type { MachineTest } from "./match-machine.ts";

/**
 * Returns the rows of the table. `matching` has all machines that match, in the current order. `shown` has the
 * first MOST_ROWS of them, in the order at which the operator began to point. `settle` switches to the current
 * order, and is null if the current order is shown.
 */
export function useFleetRows(query: FleetQuery, search: FleetSearch, isHeld: ReadonlySignal<boolean>) {
  const { live } = usePage();
  const { matching, key } = useMatching(query, search);
  const [, drawAgain] = useState(0);
  const held = useRef<{ key: string; matching: readonly FeedMachine[]; rows: readonly FeedMachine[] }>(null);
  const now = useMemo(() => firstRows(matching), [matching]);
  const before = isHeld.value && held.current?.key === key ? held.current : null;
  let shown = now;
  if (before) {
    const isSame = before.matching === matching;
    const kept = isSame ? before.rows : inTheirPlaces(before.rows, live.machines());
    if (!isSameOrder(kept, now)) shown = kept;
  }
  held.current = { key, matching, rows: shown };
  const settle = () => {
    held.current = null;
    drawAgain((round) => round + 1);
  };
  return { matching, shown, settle: shown === now ? null : settle };
}

/** Returns the matching machines: a new list for another query, changed with each message of the feed. */
export function useMatching(query: FleetQuery, search: FleetSearch) {
  const { live } = usePage();
  const revision = live.revision.value;
  const kept = useRef<{ key: string; revision: number; list: FleetList }>(null);
  const known = {
    addressOf: (name: string) => live.machines().get(name)?.address,
    outageOf: (id: number) => live.outages.peek().get(id),
  };
  // Another outage of the filter, or another address of the machine whose neighbours are shown, builds a new list.
  const outage = query.outage === null ? null : live.outages.value.get(query.outage);
  const { beside } = search.filter;
  const { text, states, sort, isDescending } = query;
  const address = beside === undefined ? null : known.addressOf(beside);
  const key = JSON.stringify([text, [...states], outage ?? query.outage, sort, isDescending, address]);
  const before = kept.current;
  if (before?.key !== key || revision - before.revision > 1) {
    const order = fleetOrder(sort, isDescending);
    const list = new FleetList(live.machines(), fleetTest(query, search, known), order);
    kept.current = { key, revision, list };
    return { matching: list.rows, key };
  }
  if (before.revision !== revision) before.list.take(live.machines(), live.lastUpdate.peek());
  before.revision = revision;
  return { matching: before.list.rows, key };
}

/** The most rows that the table shows. For more machines the page asks for a narrower search. */
export const MOST_ROWS = 50_000;

/** The matching machines in their order. An update costs one pass over the list, and tests changed machines only. */
export class FleetList {
  readonly #test: MachineTest;
  readonly #order: FleetOrder;
  #entries: OrderedMachine[] = [];
  #byName = new Map<string, OrderedMachine>();
  #rows: readonly FeedMachine[] = [];

  constructor(machines: ReadonlyMap<string, FeedMachine>, test: MachineTest, order: FleetOrder) {
    this.#test = test;
    this.#order = order;
    this.#begin(machines);
  }

  /** The matching machines, as a new array after each change. */
  get rows(): readonly FeedMachine[] {
    return this.#rows;
  }

  /** Applies an update of the feed. `machines` is the fleet after the update. */
  take(machines: ReadonlyMap<string, FeedMachine>, { isWhole, changed, gone }: FeedUpdate): void {
    if (isWhole) return this.#begin(machines);
    const removed: OrderedMachine[] = [];
    const added: OrderedMachine[] = [];
    // A name that a message has twice is processed once.
    for (const name of new Set([...changed, ...gone])) {
      const before = this.#byName.get(name);
      const machine = machines.get(name);
      if (before?.machine === machine) continue;
      if (before) removed.push(before);
      const after = machine && this.#test(machine) ? this.#order.entryOf(machine) : undefined;
      if (after) {
        added.push(after);
        this.#byName.set(name, after);
      } else this.#byName.delete(name);
    }
    if (removed.length + added.length > 0) this.#merge(removed, added.sort(this.#order.compare));
  }

  #begin(machines: ReadonlyMap<string, FeedMachine>): void {
    const entries = [...machines.values()].filter(this.#test).map(this.#order.entryOf);
    this.#byName = new Map(entries.map((entry) => [entry.machine.name, entry]));
    this.#entries = entries.sort(this.#order.compare);
    this.#rows = entries.map(({ machine }) => machine);
  }

  /** Searches only for the places of changed machines, and copies the entries between them. */
  #merge(removed: readonly OrderedMachine[], added: readonly OrderedMachine[]): void {
    const [entries, rows] = [this.#entries, this.#rows];
    const without = removed.map((entry) => this.#placeOf(entry)).sort((a, b) => a - b);
    const before = added.map((entry) => this.#placeOf(entry));
    const merged: OrderedMachine[] = [];
    const shown: FeedMachine[] = [];
    const add = (entry: OrderedMachine | undefined, machine: FeedMachine | undefined) => {
      if (!entry || !machine) return;
      merged.push(entry);
      shown.push(machine);
    };
    let [gone, next] = [0, 0];
    for (let at = 0; at <= entries.length; at++) {
      for (; before[next] === at; next++) add(added[next], added[next]?.machine);
      if (without[gone] === at) gone += 1;
      else add(entries[at], rows[at]);
    }
    [this.#entries, this.#rows] = [merged, shown];
  }

  /** Returns the index of the first entry that does not come before `entry`. */
  #placeOf(entry: OrderedMachine): number {
    let [from, to] = [0, this.#entries.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const at = this.#entries[middle];
      if (at && this.#order.compare(at, entry) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** Returns the machines that the table shows: the first MOST_ROWS, or the array itself if it is not longer. */
export function firstRows(matching: readonly FeedMachine[]): readonly FeedMachine[] {
  return matching.length > MOST_ROWS ? matching.slice(0, MOST_ROWS) : matching;
}

/** Returns a text like `12 of 201 machines`. */
export function countText(matching: number, all: number): string {
  const [found, whole] = [matching.toLocaleString("en"), all.toLocaleString("en")];
  const word = all === 1 ? "machine" : "machines";
  const text = matching === all ? `${whole} ${word}` : `${found} of ${whole} ${word}`;
  if (matching <= MOST_ROWS) return text;
  const most = MOST_ROWS.toLocaleString("en");
  return `${text}: too many to show. Here are the first ${most}; search for fewer.`;
}

/** Returns the shown rows in place, with current values. A machine that has left the fleet keeps its last ones. */
export function inTheirPlaces(
  shown: readonly FeedMachine[],
  machines: ReadonlyMap<string, FeedMachine>,
): readonly FeedMachine[] {
  return shown.map((machine) => machines.get(machine.name) ?? machine);
}

export function isSameOrder(shown: readonly FeedMachine[], now: readonly FeedMachine[]): boolean {
  return shown.length === now.length && shown.every(({ name }, at) => name === now[at]?.name);
}

type SortKey = string | number;

/** Returns a key that sorts the numbers of names by their values: `edge-2` before `edge-10`. */
export const nameKey = (name: string): string =>
  name.replace(/\d+/g, (digits) => digits.replace(/^0+(?=\d)/, "").padStart(16, "0"));

/** Returns the rank of a state by urgency. An unknown state, from a newer Worker, comes first. */
const rankOf = (state: string) => (URGENCY as readonly string[]).indexOf(state);

/** The sort key of unknown values, which come last in ascending and descending order. */
const NOT_KNOWN = Number.POSITIVE_INFINITY;

const KEYS: Readonly<Record<FleetSort, (machine: FeedMachine) => SortKey>> = {
  state: ({ state }) => rankOf(state),
  // Machines with equal keys are in the order of their names.
  name: () => "",
  since: ({ sinceMs }) => sinceMs,
  why: ({ why }) => why,
  version: ({ versions }) => versionKey(versions.shim),
  address: ({ address }) => addressKey(address),
  // The negative time sorts the youngest machine first.
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

interface OrderedMachine {
  machine: FeedMachine;
  key: SortKey;
  nameKey: string;
}

type FleetOrder = ReturnType<typeof fleetOrder>;

/** Returns an order of machines. Machines with equal keys are in the order of their names. */
export function fleetOrder(sort: FleetSort, isDescending: boolean) {
  const sign = isDescending ? -1 : 1;
  return {
    entryOf: (machine: FeedMachine): OrderedMachine => ({
      machine,
      key: KEYS[sort](machine),
      nameKey: nameKey(machine.name),
    }),
    compare: (a: OrderedMachine, b: OrderedMachine): number => {
      if (a.key !== b.key) {
        if (a.key === NOT_KNOWN || b.key === NOT_KNOWN) return a.key === NOT_KNOWN ? 1 : -1;
        return a.key < b.key ? -sign : sign;
      }
      if (a.machine.name === b.machine.name) return 0;
      // Machines with equal keys are always in ascending order of their names. `edge-1` and `edge-01` have equal keys.
      const [one, other] =
        a.nameKey === b.nameKey ? [a.machine.name, b.machine.name] : [a.nameKey, b.nameKey];
      return (one < other ? -1 : 1) * (sort === "name" ? sign : 1);
    },
  };
}

/** Milliseconds after which a resting pointer no longer holds the rows: the operator has probably left it there. */
const POINTS_FOR_MS = 4000;

export function useIsPointedAt(rows: RefObject<HTMLElement | null>): ReadonlySignal<boolean> {
  const isHeld = useSignal(false);
  useEffect(() => {
    const element = rows.current;
    if (!element) return undefined;
    let callOff = () => {};
    const hasFocus = () => element.contains(document.activeElement);
    const release = () => {
      callOff();
      isHeld.value = hasFocus();
    };
    const point = () => {
      callOff();
      callOff = later(release, POINTS_FOR_MS);
      isHeld.value = true;
    };
    const focus = () => {
      isHeld.value = true;
    };
    // When the focus moves from row to row, the newly focused element is known only after this event.
    const blur = () => {
      callOff();
      callOff = later(release, 0);
    };
    const listeners = [
      ["pointermove", point],
      ["pointerdown", point],
      ["pointerleave", release],
      ["focusin", focus],
      ["focusout", blur],
    ] as const;
    for (const [type, act] of listeners) element.addEventListener(type, act);
    return () => {
      callOff();
      for (const [type, act] of listeners) element.removeEventListener(type, act);
    };
  }, []);
  return isHeld;
}
