// The wait before a repeated attempt. Callers add randomness and Retry-After.

/** Doubles from `firstMs` with each failure in a row, up to `longestMs`. `failures`: 1 or more. */
export function backOff(failures: number, firstMs: number, longestMs: number): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1));
}
