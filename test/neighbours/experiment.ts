// Defines an experiment. An experiment runs one real program next to a fleet of our Nodes. It measures the rows of
// rows.ts that the program decides.
import type { Fleet } from "./fleet.ts";
import type { Lab } from "./lab.ts";
import type { RowName } from "./rows.ts";

export interface Outcome {
  /** The part of the outcome that is the same in each run. The test compares it with the row, and the docs show it. */
  verdict: string;
  /** Measured values, which differ between runs. */
  detail?: string;
}

export interface Experiment {
  /** The names of the rows that `measure` returns. */
  rows: readonly RowName[];
  /** Returns the name of the missing program; null if the experiment can run on this computer. */
  missing: () => string | null;
  /** Runs the experiment next to a fleet, and returns the outcome of each row. */
  measure: (lab: Lab, fleet: Fleet) => Promise<Partial<Record<RowName, Outcome>>>;
}
