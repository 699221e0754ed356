// How often new processes of a machine's shim cause a registration: each may write the Node, and whoever has the machine's
// key decides how many there are. Repeated tries of one process are none; they have their own wait (registration.ts).
import { NUMBER_RANGES } from "../../shared/deployment/numbers.ts";
import { type Result, failure, success } from "../../shared/result.ts";
import { type Allowance, allowanceAt } from "../storage/allowance.ts";

export const REGISTRATION_BUDGET = {
  atOnce: 6,
  everyMs: 60_000,
  /** Between two, where the deployment allows the least requests a minute; less where it allows more. */
  apartMs: 10_000,
} as const;

/** A Node that is larger than this counts as several: each registration may write all of it. */
const NODE_BYTES = 32 * 1024;

/**
 * What is left after one more, of a Node of so many bytes; else how long to wait, in milliseconds. `aMinute`: the
 * deployment's MACHINE_REQUESTS.
 */
export function spendRegistration(
  budget: Allowance | undefined,
  nowMs: number,
  { aMinute, nodeBytes }: { aMinute: number; nodeBytes: number },
): Result<Allowance, number> {
  const { atOnce, everyMs } = REGISTRATION_BUDGET;
  const cost = Math.max(1, nodeBytes / NODE_BYTES);
  if (!budget) return success({ left: atOnce - cost, atMs: nowMs });
  // A clock that was put back must not extend the wait.
  const sinceMs = Math.max(0, nowMs - budget.atMs);
  const apartMs = Math.floor((REGISTRATION_BUDGET.apartMs * NUMBER_RANGES.MACHINE_REQUESTS[0]) / aMinute);
  const left = allowanceAt(budget, REGISTRATION_BUDGET, nowMs);
  const waitMs = Math.max(apartMs - sinceMs, Math.ceil((1 - left) * everyMs));
  return waitMs > 0 ? failure(waitMs) : success({ left: left - cost, atMs: nowMs });
}
