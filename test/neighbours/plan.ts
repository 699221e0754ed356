// Decides next to which fleets an experiment runs, and which outcome its rows must have there.
import type { Experiment } from "./experiment.ts";
import { controllersExperiment } from "./controllers.ts";
import { deschedulerExperiment } from "./descheduler.ts";
import type { Fleet } from "./fleet.ts";
import { hintsExperiment } from "./hints.ts";
import { kubectlTopExperiment } from "./kubectl-top.ts";
import { karpenterExperiment } from "./karpenter.ts";
import { metricsServerExperiment } from "./metrics-server.ts";
import { cutOffExperiment, deadKubeletExperiment } from "./node-lifecycle.ts";
import { COUNTS, outcomeOf, rowOf, type RowName } from "./rows.ts";
import { rulesExperiment } from "./rules.ts";
import { schedulerExperiment } from "./scheduler.ts";

export const EXPERIMENTS = {
  scheduler: schedulerExperiment,
  "cut-off": cutOffExperiment,
  "dead-kubelet": deadKubeletExperiment,
  controllers: controllersExperiment,
  hints: hintsExperiment,
  rules: rulesExperiment,
  "metrics-server": metricsServerExperiment,
  "kubectl-top": kubectlTopExperiment,
  descheduler: deschedulerExperiment,
  karpenter: karpenterExperiment,
} satisfies Record<string, Experiment>;

export type ExperimentName = keyof typeof EXPERIMENTS;

/** The column of the table that contains a measurement. */
export type Column = "without" | "1" | "30" | "1000" | "control";

export interface Cell {
  fleet: Fleet;
  expected: { row: RowName; column: Column; outcome: string }[];
}

/**
 * Returns the columns of an experiment: first without rollcall, then by rising counts of our Nodes. Rows that need the
 * same fleet share a column.
 */
export function cellsOf({ rows }: Experiment): Cell[] {
  const cells = new Map<string, Cell>();
  const add = (fleet: Fleet, row: RowName, column: Column, outcome: string) => {
    const key = JSON.stringify([fleet.count, fleet.kind, fleet.state]);
    const cell = cells.get(key) ?? { fleet, expected: [] };
    cells.set(key, cell);
    cell.expected.push({ row, column, outcome });
  };
  for (const name of rows) {
    const row = rowOf(name);
    const { kind = "ours", states, controls } = row;
    const state = states[0]!;
    add({ count: 0, kind: "ours", state: "ready" }, name, "without", row.without);
    for (const count of COUNTS) {
      const others = count === 30 ? states : [state];
      for (const each of others) add({ count, kind, state: each }, name, `${count}`, outcomeOf(row, count));
    }
    for (const { kind, outcome, count = 30 } of controls)
      add({ count, kind, state }, name, "control", outcome);
  }
  return [...cells.values()].toSorted((a, b) => a.fleet.count - b.fleet.count);
}
