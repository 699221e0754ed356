// What a machine is about to report, and what is changed in it: a machine that is well, as the start of all that is not.
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../../shared/protocol/report.ts";
import { machineFacts, machineVitals } from "../../bench/machine.ts";

/** Of a report; what goes beyond a schema is put in all the same. */
export interface Draft {
  facts: Facts;
  vitals: Vitals;
  startId: string;
  /** Length of the body that white space fills up; 0: as it comes. */
  padTo: number;
}

/** Which machine, and which run of it, reports. */
export interface Ids {
  startId: string;
  bootID: string;
  machineID: string;
}

/** A healthy machine of this name; `turn` changes the amounts of its vitals alone. */
export function wellDraft(name: string, { startId, bootID, machineID }: Ids, turn: number): Draft {
  const facts = machineFacts();
  facts.settings.hostname = name.slice(0, 63);
  facts.machine = { ...facts.machine!, bootID, machineID };
  facts.images = [];
  facts.dropIns = noDropIns();
  return { facts, vitals: machineVitals(turn % 64), startId, padTo: 0 };
}

export function noDropIns(): NonNullable<Facts["dropIns"]> {
  return { resources: {}, labels: {}, conditions: [], working: 1, failures: [] };
}

export function many<Item>(count: number, make: (at: number) => Item): Item[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

/** A record of so many entries. */
export function entries<Value>(
  count: number,
  key: (at: number) => string,
  value: (at: number) => Value,
): Record<string, Value> {
  return Object.fromEntries(many(count, (at) => [key(at), value(at)]));
}

export function long(start: string | number, length: number): string {
  return String(start).padEnd(length, "x");
}
