// The Nodes of a zone that wait for their NoExecute taint, at so many a second. Mirrors nodelifecycle/scheduler's
// RateLimitedTimedQueue. Writes nothing and has no clock.
import { type TokenBucket, tryAccept } from "../../../../shared/events/token-bucket.ts";

export interface TaintQueue {
  /** One that was tainted is not taken again until it has been removed. */
  add: (name: string) => void;
  remove: (name: string) => void;
  /** The next Node, if there is one and the rate allows it. */
  next: (nowMs: number) => string | undefined;
  isEmpty: () => boolean;
  /** Nodes per second; 0 stops it. */
  setRate: (perSecond: number, nowMs: number) => void;
}

/** scheduler.EvictionRateLimiterBurst */
const burst = 1;

export function createTaintQueue(startRate: number): TaintQueue {
  const known = new Set<string>();
  const waiting = new Set<string>();
  let rate = startRate;
  let bucket: TokenBucket | undefined;

  function take(nowMs: number): boolean {
    const taken = rate > 0 ? tryAccept(bucket, nowMs * 1_000, burst, rate) : null;
    if (taken) bucket = taken;
    return taken !== null;
  }

  return {
    add: (name) => {
      if (!known.has(name)) waiting.add(name);
      known.add(name);
    },
    remove: (name) => {
      known.delete(name);
      waiting.delete(name);
    },
    next: (nowMs) => {
      const [name] = waiting;
      if (name === undefined || !take(nowMs)) return undefined;
      waiting.delete(name);
      return name;
    },
    isEmpty: () => waiting.size === 0,
    setRate: (perSecond, nowMs) => {
      if (perSecond === rate) return;
      const isFree = take(nowMs);
      rate = perSecond;
      bucket = undefined;
      // The next Node waits as long as it would have.
      if (!isFree) take(nowMs);
    },
  };
}
