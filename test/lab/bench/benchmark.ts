// Defines the types of a benchmark and of its results.
import type { Budget } from "./budgets.ts";

export interface Benchmark extends Budget {
  /** A requirement that this computer does not meet. Absent if it meets all. */
  lacks?: string;
  /**
   * Measures the rounds; a long benchmark reports its progress. A measurement of an idle state lasts for `minutes`.
   */
  measure: (progress: Progress, minutes: number) => Promise<Round[]>;
  /** Returns lines that are printed after the table. Several benchmarks may return the same lines. */
  details?: () => string;
}

export type Progress = (message: string) => void;

/** One round: the measured value and the yardstick's value right after it, both in the benchmark's unit. */
export interface Round {
  ours: number;
  /** The yardstick's value. Absent if this computer has no yardstick, or the benchmark needs none. */
  yardstick?: number;
  /** The median of the turns' ratios of our time to the yardstick's, if the round has many turns. */
  ratio?: number;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** A row of the table: the budget and the measured values. */
export interface Figures extends Budget {
  ours: Spread;
  yardstick?: Spread;
  ratio?: Spread;
}
