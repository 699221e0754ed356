// Computes the wait before a repeated attempt. Callers add randomness and respect Retry-After.

/** Returns the wait after `failures` failed attempts in a row: `firstMs`, doubled each time up to `longestMs`. */
export function backOff(failures: number, firstMs: number, longestMs: number): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1));
}
