// What is done with the machines that are selected, or all that match: to come.
import type { ReadonlySignal } from "@preact/signals";
import type { FleetQuery } from "./fleet-query.ts";

export interface BulkBarProps {
  /** Names. */
  selected: ReadonlySignal<ReadonlySet<string>>;
  /** Names of all machines that match the query, in the table's order. */
  matching: readonly string[];
  query: FleetQuery;
  /** Something was done with them: the selection is put away. */
  onDone: () => void;
}

export function BulkBar({ selected }: BulkBarProps) {
  return <span>{selected.value.size} selected</span>;
}
