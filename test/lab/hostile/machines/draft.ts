// Drafts a machine's next report. A draft starts as the report of a healthy machine; hostile acts then change it.
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../../shared/protocol/report.ts";
import { machineFacts, machineVitals } from "../../bench/machine.ts";

/** The parts of a report, which hostile acts change. Values that the schema refuses are allowed. */
export interface Draft {
  facts: Facts;
  vitals: Vitals;
  startId: string;
  /** The length in bytes to which white space fills the body. 0 for none. */
  padTo: number;
}

/** The IDs of the machine, of its boot and of the shim's process. */
export interface Ids {
  startId: string;
  bootID: string;
  machineID: string;
}

/** Returns the report of a healthy machine with this name. `turn` changes only the amounts of its vitals. */
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

/** Returns a record with this number of entries. */
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
