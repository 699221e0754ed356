// Spares an apiserver that fails: a step that failed is tried four times at once, and then once for each of the machine's
// report intervals, whatever the machine sends meanwhile. Each object does so by itself, and each step: a status that
// cannot be written must not keep the lease from being renewed.
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import type { BackOff, TickContext } from "./context.ts";

export const TRIES_AT_ONCE = 4;

/** Call it with the outcome of a step; undefined: it did not fail, or was refused, which is an answer. */
export function backOffAfter(
  before: BackOff | undefined,
  error: ApiError | null,
  { facts, nowMs, random }: Pick<TickContext, "facts" | "nowMs" | "random">,
): BackOff | undefined {
  if (!error || !isFailing(error)) return undefined;
  const atMs = nowMs();
  // Less than an interval, so that no periodic report is passed over; random, so that objects that failed together do not
  // try together.
  const everyMs = reportIntervalMs(facts.settings) * (0.5 + 0.4 * random());
  return { error, tries: Math.max(0, triesAt(before, atMs) - 1), atMs, everyMs };
}

/** The error that a step has as long as it is not tried; undefined: try it. */
export function errorMeanwhile(backOff: BackOff | undefined, nowMs: number): ApiError | undefined {
  return triesAt(backOff, nowMs) < 1 ? backOff?.error : undefined;
}

/** A clock that was put back ends the wait. */
function triesAt(backOff: BackOff | undefined, nowMs: number): number {
  if (!backOff || nowMs < backOff.atMs) return TRIES_AT_ONCE;
  return Math.min(TRIES_AT_ONCE, backOff.tries + (nowMs - backOff.atMs) / backOff.everyMs);
}

/** Is it the apiserver that fails, and not this request that is refused? */
function isFailing(error: ApiError): boolean {
  if (error.kind === "unanswered") return true;
  const { code = 0 } = error.status;
  return code === 429 || code >= 500;
}
