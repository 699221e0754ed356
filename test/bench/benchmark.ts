// What a benchmark is, and what comes of one. Types only.

export interface Benchmark {
  /** How it is asked for on the command line; the beginning of several names, up to a `-`, asks for all of them. */
  name: string;
  what: string;
  unit:
    | "µs"
    | "s"
    | "bytes"
    | "ratio"
    | "rows"
    | "requests"
    | "trips"
    | "Nodes"
    | "/s"
    | "ms"
    | "MiB"
    | "% of a core"
    | "processes";
  /** null: nothing is promised. */
  budget: number | null;
  /** More is better: the budget is a floor, not a ceiling. */
  atLeast: boolean;
  /** A long one says how far it is. `minutes` is for what is watched while nothing happens. */
  measure: (progress: Progress, minutes: number) => Promise<number>;
}

export type Progress = (message: string) => void;

/** One row: what was promised, and what was seen. */
export type Result = Omit<Benchmark, "measure"> & { measured: number };
