// How long after a failure the Nodes are listed and watched again. Pure.

export const WAIT_LIMITS = {
  firstMs: 1000,
  /** Each wait is twice the one before, up to this one. */
  longestMs: 60_000,
  /** Retry-After counts up to this. */
  retryAfterMs: 300_000,
} as const;

/** `failures`: in a row, with this one. `random`: from 0 to 1, so that Workers that failed together do not come together. */
export function waitAfter(failures: number, retryAfterMs: number, random: number): number {
  const waitMs = Math.min(WAIT_LIMITS.firstMs * 2 ** (failures - 1), WAIT_LIMITS.longestMs);
  return Math.max(waitMs * (0.75 + 0.25 * random), Math.min(retryAfterMs, WAIT_LIMITS.retryAfterMs));
}
