// Measures in turns with a yardstick, so that a slow computer slows both, and judges the results by the budget.
import type { Figures, Round, Spread } from "./benchmark.ts";
import type { Budget } from "./budgets.ts";

/** Measures `ours` and `yardstick` in turns: A B A B …; `turn` counts up from 0. */
export async function inTurns(
  rounds: number,
  ours: (turn: number) => Promise<number> | number,
  yardstick: (turn: number) => Promise<number> | number,
): Promise<Round[]> {
  const taken: Round[] = [];
  for (let turn = 0; turn < rounds; turn++) {
    taken.push({ ours: await ours(turn), yardstick: await yardstick(turn) });
  }
  return taken;
}

/** Returns the median. NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = low] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}

/** Returns the value that this share of the values, from 0 to 1, does not exceed. NaN for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export function ratioOf({ ours, yardstick, ratio }: Round): number | undefined {
  return ratio ?? (yardstick === undefined ? undefined : ours / yardstick);
}

/** Returns the measured values of all rounds with their budget. Throws if there were no rounds. */
export function figuresOf(budget: Budget, rounds: readonly Round[]): Figures {
  const ours = spreadOf(rounds.map((round) => round.ours));
  if (Number.isNaN(ours.median)) throw new Error("nothing was measured");
  const yardsticks = rounds.flatMap(({ yardstick }) => yardstick ?? []);
  const ratios = rounds.flatMap((round) => ratioOf(round) ?? []);
  return {
    ...budget,
    ours,
    ...(yardsticks.length > 0 && { yardstick: spreadOf(yardsticks) }),
    ...(ratios.length > 0 && { ratio: spreadOf(ratios) }),
  };
}

/** The verdict on a benchmark. `not judged`: its yardstick is missing on this computer. */
export type Verdict = "ok" | "MISSED" | "not judged" | "no budget";

/** Returns the judged value: the ratio if the budget has a yardstick, else the measured value itself. */
export function judgedOf({ against, ours, ratio }: Figures): Spread | undefined {
  return against === undefined ? ours : ratio;
}

export function verdictOf(figures: Figures): Verdict {
  const { budget, atLeast } = figures;
  if (budget === null) return "no budget";
  const judged = judgedOf(figures);
  if (judged === undefined) return "not judged";
  return (atLeast ? judged.median >= budget : judged.median <= budget) ? "ok" : "MISSED";
}
