// An experiment: rows of the table that one real program decides, measured together next to one fleet.
import type { Fleet } from "./fleet.ts";
import type { Lab } from "./lab.ts";
import type { RowName } from "./rows.ts";

export interface Outcome {
  /** The same in each run. It is compared with the row, and the docs show it. */
  verdict: string;
  /** Measured values, which differ between runs. */
  detail?: string;
}

export interface Experiment {
  /** Rows that `measure` returns. */
  rows: readonly RowName[];
  /** Null if it can run here; else the missing program. */
  missing: () => string | null;
  /** The programs' versions, by their names. */
  measure: (lab: Lab, fleet: Fleet) => Promise<Partial<Record<RowName, Outcome>>>;
}
