// Budgets that fill as time passes: some at once, then one more in each while. Pure.

/** What is left of one. */
export interface Allowance {
  left: number;
  /** Milliseconds since 1970. */
  atMs: number;
}

/** What is left by now, also a part of one; `budget`: undefined where nothing was ever spent. */
export function allowanceAt(
  budget: Allowance | undefined,
  { atOnce, everyMs }: { atOnce: number; everyMs: number },
  nowMs: number,
): number {
  if (!budget) return atOnce;
  // A clock that was put back fills nothing.
  return Math.min(atOnce, budget.left + Math.max(0, nowMs - budget.atMs) / everyMs);
}
