// Rate limits by token buckets: some actions at once, then one more in each interval.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";

interface RateLimit {
  atOnce: number;
  everyMs: number;
}

/** Every limit of one machine's actions that a token bucket enforces. */
export const RATE_LIMITS = {
  /** Registrations of new shim processes, each of which may write the Node. */
  registrations: { atOnce: 6, everyMs: 60_000 },
  /**
   * Shim processes that start their events with a full spam budget and a count of one, as a restarted kubelet does. In any
   * hour 24 processes do; each may send 25 events of each type.
   */
  freshEvents: { atOnce: 12, everyMs: 300_000 },
  /** Status writes between reports. Two writers that fight over a value cause no more than reports would. */
  statusBetweenReports: { atOnce: 3, everyMs: 10_000 },
  /** Lines of history about outages. */
  outageLines: { atOnce: 6, everyMs: 600_000 },
  /** Updates of the fleet index, which receives those of all machines. */
  indexUpdates: { atOnce: 10, everyMs: 10_000 },
  socketUpgrades: {
    atOnce: GATEWAY_LIMITS.upgradesAMinute,
    everyMs: 60_000 / GATEWAY_LIMITS.upgradesAMinute,
  },
  socketReports: { atOnce: GATEWAY_LIMITS.reportsAtOnce, everyMs: 60_000 / GATEWAY_LIMITS.reportsAMinute },
} as const satisfies Record<string, RateLimit>;

export interface TokenBucket {
  left: number;
  /** Time of `left`, in milliseconds since 1970. */
  atMs: number;
}

/** Returns the tokens that are left now, with fractions. `bucket`: undefined if none was ever taken. */
export function tokensAt(
  bucket: TokenBucket | undefined,
  { atOnce, everyMs }: RateLimit,
  nowMs: number,
): number {
  if (!bucket) return atOnce;
  // A clock that was put back adds nothing.
  return Math.min(atOnce, bucket.left + Math.max(0, nowMs - bucket.atMs) / everyMs);
}

/** Takes a token. Returns the bucket afterwards, and whether it had one. */
export function take(
  bucket: TokenBucket | undefined,
  limit: RateLimit,
  nowMs: number,
): { isTaken: boolean; bucket: TokenBucket } {
  const left = tokensAt(bucket, limit, nowMs);
  const isTaken = left >= 1;
  return { isTaken, bucket: { left: isTaken ? left - 1 : left, atMs: nowMs } };
}
