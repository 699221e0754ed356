// Bounds the requests and frames that the Worker, or a server in its place, can cause: some at once, then one in each
// interval.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";

export interface Pace {
  /** Counts one request or frame. */
  note: () => void;
  /** Returns the milliseconds until the next one is within the limit; 0 if it may follow at once. */
  waitMs: () => number;
}

/** The limits of a gateway for reports over one socket. */
const AT_ONCE = GATEWAY_LIMITS.reportsAtOnce;
const EVERY_MS = 60_000 / GATEWAY_LIMITS.reportsAMinute;

/**
 * Returns a pace. `nowMs` is typically systemClock.nowMs. `intervalMs` is the configured report interval, which may
 * be shorter than a gateway's limit.
 */
export function gatewayPace(nowMs: () => number, intervalMs = EVERY_MS): Pace {
  const everyMs = Math.min(EVERY_MS, intervalMs);
  /** The time at which all of AT_ONCE are available again. */
  let fullAtMs = -Infinity;
  return {
    note: () => void (fullAtMs = Math.max(fullAtMs, nowMs()) + everyMs),
    waitMs: () => Math.max(0, fullAtMs - nowMs() - (AT_ONCE - 1) * everyMs),
  };
}
