// Converts a summary of the fleet index into a machine in the form of the feed.
import { ColumnsBuilder } from "../../../../shared/fleet/columns.ts";
import { ALL_FIELDS, allValues, type FeedMachine, FeedView } from "../../../../shared/fleet/feed-view.ts";
import type { MachineSummary } from "../../../../shared/fleet/summary.ts";
import { summaryOf } from "../../../worker/support/made-up-fleet.ts";

export function feedMachine(name: string, change: Partial<MachineSummary> = {}): FeedMachine {
  const rows = new ColumnsBuilder(ALL_FIELDS);
  rows.add(allValues(name, summaryOf(1, change)));
  const view = new FeedView();
  view.take({ type: "hello", resumed: false, why: "" });
  view.take({ type: "snapshot", cursor: "0", rows: 1, machines: rows.finish(), isLast: true });
  const machine = view.machines.get(name);
  if (!machine) throw new Error("the feed has lost a machine");
  return machine;
}

export const byName = (machines: readonly FeedMachine[]): Map<string, FeedMachine> =>
  new Map(machines.map((machine) => [machine.name, machine]));
