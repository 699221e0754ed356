// The machines that match, in their order, kept as the feed changes them: a message costs its own changes and one walk along
// the list. Draws nothing.
import type { FeedMachine, FeedUpdate } from "../../../shared/fleet/feed-view.ts";
import type { FleetOrder, OrderedMachine } from "./fleet-order.ts";
import type { MachineTest } from "./match-machine.ts";

/** More rows than these no table shows: the search has to be narrower. */
export const MOST_ROWS = 50_000;

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

  /** Another array whenever anything in it has changed. */
  get rows(): readonly FeedMachine[] {
    return this.#rows;
  }

  /** `machines`: as they are with the update. */
  take(machines: ReadonlyMap<string, FeedMachine>, { isWhole, changed, gone }: FeedUpdate): void {
    if (isWhole) return this.#begin(machines);
    const removed: OrderedMachine[] = [];
    const added: OrderedMachine[] = [];
    // A name twice in one message is one change.
    for (const name of new Set([...changed, ...gone])) {
      const before = this.#byName.get(name);
      const machine = machines.get(name);
      if (before?.machine === machine) continue;
      if (before) removed.push(before);
      const after = machine && this.#test(machine) ? this.#entryOf(machine) : undefined;
      if (after) {
        added.push(after);
        this.#byName.set(name, after);
      } else this.#byName.delete(name);
    }
    if (removed.length + added.length > 0) this.#merge(removed, added.sort(this.#order.compare));
  }

  #begin(machines: ReadonlyMap<string, FeedMachine>): void {
    const entries = [...machines.values()].filter(this.#test).map((machine) => this.#entryOf(machine));
    this.#byName = new Map(entries.map((entry) => [entry.machine.name, entry]));
    this.#entries = entries.sort(this.#order.compare);
    this.#rows = entries.map(({ machine }) => machine);
  }

  /** Looks for the places of what has changed alone: what stays is copied, and not looked at. */
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

  /** Of the first entry that does not come before this one. */
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

  #entryOf(machine: FeedMachine): OrderedMachine {
    return { machine, key: this.#order.keyOf(machine) };
  }
}

/** Those that a table shows; the same array where that is all of them. */
export function firstRows(matching: readonly FeedMachine[]): readonly FeedMachine[] {
  return matching.length > MOST_ROWS ? matching.slice(0, MOST_ROWS) : matching;
}

/** How many machines match, of how many there are. */
export function countText(matching: number, all: number): string {
  const [found, whole] = [matching.toLocaleString("en"), all.toLocaleString("en")];
  const word = all === 1 ? "machine" : "machines";
  const said = matching === all ? `${whole} ${word}` : `${found} of ${whole} ${word}`;
  if (matching <= MOST_ROWS) return said;
  const most = MOST_ROWS.toLocaleString("en");
  return `${said}: too many to show. Here are the first ${most}; search for fewer.`;
}

/**
 * The rows that were shown, in their places, as the machines are now: nothing moves under a pointer. What has left the
 * fleet stays as it was.
 */
export function inTheirPlaces(
  shown: readonly FeedMachine[],
  machines: ReadonlyMap<string, FeedMachine>,
): readonly FeedMachine[] {
  return shown.map((machine) => machines.get(machine.name) ?? machine);
}

/** Are these the same machines in the same order? */
export function isSameOrder(shown: readonly FeedMachine[], now: readonly FeedMachine[]): boolean {
  return shown.length === now.length && shown.every(({ name }, at) => name === now[at]?.name);
}
