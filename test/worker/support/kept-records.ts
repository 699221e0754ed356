// Stores the records of a node object with SQLite or in memory, and collects its lines of history and warnings.
import type { Journal } from "../../../worker/storage/journal.ts";
import { nodeRecordStore, type NodeRecordStore } from "../../../worker/storage/records.ts";
import { machineSamples } from "../../../worker/storage/samples.ts";
import { nodeTables } from "../../../worker/storage/tables.ts";

/** Returns the records over a machine's tables in SQLite. */
export function recordsOf(sql: SqlStorage): NodeRecordStore {
  const tables = nodeTables({ sql, transactionSync: (work) => work() });
  return nodeRecordStore(sql, tables, machineSamples(sql, tables));
}

export function keptRecords(before: Record<string, unknown> = {}) {
  const kept = new Map<string, unknown>(Object.entries(before));
  const notes: string[] = [];
  const records = {
    get: (key: string) => kept.get(key),
    put: (key: string, value: unknown) => void kept.set(key, value),
    remove: (key: string) => void kept.delete(key),
  } as unknown as NodeRecordStore;
  const journal = {
    note: (kind: string, text: string) => void notes.push(`${kind}: ${text}`),
    warn: (reason: string, text: string) => void notes.push(`${reason}: ${text}`),
  } as unknown as Journal;
  return { kept, notes, records, journal };
}
