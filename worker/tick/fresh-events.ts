// How often the events of a new process of a machine's shim begin afresh, as a kubelet's do: with a full spam budget, and
// counted from one. Whoever has the machine's key decides how often it starts.
import { type Allowance, allowanceAt } from "../storage/allowance.ts";

/** 24 in whatever hour: of each type of event, 25 pass for each. */
export const FRESH_EVENTS = { atOnce: 12, everyMs: 300_000 } as const;

/** Where none is left, the process goes on with the budget and the counts of the one before it. */
export function spendFreshEvents(
  budget: Allowance | undefined,
  nowMs: number,
): { isFresh: boolean; left: Allowance } {
  const left = allowanceAt(budget, FRESH_EVENTS, nowMs);
  const isFresh = left >= 1;
  return { isFresh, left: { left: isFresh ? left - 1 : left, atMs: nowMs } };
}
