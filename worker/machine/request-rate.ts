// Limits how often one machine's requests are handled. Counts only fresh requests that the machine signed, so that
// nobody else can use up its share, not even with recorded requests.
import { type TokenBucket, tryAccept } from "../../shared/events/token-bucket.ts";

export interface RequestLimit {
  atOnce: number;
  perSecond: number;
}

/**
 * A shim that waits for its first Ready reports at most every 100 ms (the kubelet's fastNodeStatusUpdate); a steady one
 * once a second at most, its flips apart.
 */
export const REQUEST_LIMIT = { atOnce: 100, perSecond: 10 } as const;
/** After this time some requests are allowed again. */
export const RETRY_AFTER_SECONDS = 1;

/** Call it for each request; false: one too many. It is kept in memory: an object that was evicted had few requests. */
export function requestRate({ atOnce, perSecond }: RequestLimit = REQUEST_LIMIT): (nowMs: number) => boolean {
  let bucket: TokenBucket | undefined;
  return (nowMs) => {
    const taken = tryAccept(bucket, nowMs * 1000, atOnce, perSecond);
    bucket = taken ?? bucket;
    return taken !== null;
  };
}
