// Implements a token bucket like golang.org/x/time/rate.Limiter.AllowN, with the same rounding.

export interface TokenBucket {
  tokens: number;
  lastMicros: number;
}

/** Takes one token: returns the bucket with one token less, or null if it has none. An absent bucket is full. */
export function tryAccept(
  bucket: TokenBucket | undefined,
  nowMicros: number,
  burst: number,
  perSecond: number,
): TokenBucket | null {
  const tokens =
    (bucket ? Math.min(burst, bucket.tokens + refilled(bucket, nowMicros, perSecond)) : burst) - 1;
  // Upstream waits in whole nanoseconds, so a shortage of less than one nanosecond counts as no wait.
  const waitNanos = tokens < 0 ? Math.trunc((-tokens / perSecond) * 1e9) : 0;
  return waitNanos > 0 ? null : { tokens, lastMicros: nowMicros };
}

function refilled({ lastMicros }: TokenBucket, nowMicros: number, perSecond: number): number {
  const elapsedMicros = Math.max(0, nowMicros - lastMicros);
  const seconds = Math.floor(elapsedMicros / 1e6);
  const nanos = (elapsedMicros - seconds * 1e6) * 1000;
  return (seconds + nanos / 1e9) * perSecond;
}
