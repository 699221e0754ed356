// How often one machine is listened to. Counts fresh requests that it signed itself and nothing else: whoever sends others,
// or a recording of its own, cannot use its share up.
import { type TokenBucket, tryAccept } from "../../shared/events/token-bucket.ts";

/**
 * A shim that waits for its first Ready reports at most every 100 ms (the kubelet's fastNodeStatusUpdate); a steady one
 * once a second at most, its flips apart.
 */
export const REQUEST_LIMIT = { atOnce: 100, perSecond: 10 } as const;
/** Then there is room for some again. */
export const RETRY_AFTER_SECONDS = 1;

/** Call it for each request: false is one too many. Lives in memory: an object that was evicted was not asked much. */
export function requestRate(): (nowMs: number) => boolean {
  let bucket: TokenBucket | undefined;
  return (nowMs) => {
    const taken = tryAccept(bucket, nowMs * 1000, REQUEST_LIMIT.atOnce, REQUEST_LIMIT.perSecond);
    bucket = taken ?? bucket;
    return taken !== null;
  };
}
