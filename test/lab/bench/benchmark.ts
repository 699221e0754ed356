// What a benchmark is, and what comes of one. Types only.
import type { Budget } from "./budgets.ts";

export interface Benchmark extends Budget {
  /** What this machine lacks to measure it; absent: nothing. */
  lacks?: string;
  /** A long one says how far it is. `minutes` is for what is watched while nothing happens. */
  measure: (progress: Progress, minutes: number) => Promise<Round[]>;
  /** What else was found, as lines after the table. Several benchmarks may say the same. */
  details?: () => string;
}

export type Progress = (message: string) => void;

/** One turn: what is measured and, right beside it, its yardstick, both in the benchmark's unit. */
export interface Round {
  ours: number;
  /** Absent where there is none on this machine, or nothing to measure beside. */
  yardstick?: number;
  /** Where a round is made of many turns: the median of their ratios. */
  ratio?: number;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** A row of the table: what was promised, and what was measured. */
export interface Figures extends Budget {
  ours: Spread;
  yardstick?: Spread;
  ratio?: Spread;
}
