// The types of a benchmark and of its results.
import type { Budget } from "./budgets.ts";

export interface Benchmark extends Budget {
  /** A missing requirement of this computer; absent: none. */
  lacks?: string;
  /** Measures rounds. A long benchmark reports its progress. `minutes` applies to measurements of an idle state. */
  measure: (progress: Progress, minutes: number) => Promise<Round[]>;
  /** Lines for after the table. Several benchmarks may return the same. */
  details?: () => string;
}

export type Progress = (message: string) => void;

/** One round: the measured value and, right after it, its yardstick, both in the benchmark's unit. */
export interface Round {
  ours: number;
  /** Absent if this computer has no yardstick, or the benchmark needs none. */
  yardstick?: number;
  /** For a round of many turns: the median of their ratios. */
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
