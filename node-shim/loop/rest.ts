// The time between two reports, and what ends it early. Decides neither how long it is nor what is worth ending it.
import { type TokenBucket, tryAccept } from "../../shared/events/token-bucket.ts";
import { type Clock, wakeableWait } from "../base/clock.ts";

/** Flips beyond the periodic reports: five at once, then five a minute. What flaps faster goes with the next report. */
const FLIPS_AT_ONCE = 5;
const FLIPS_PER_SECOND = 5 / 60;

export interface Rest {
  /** Rests so long; something urgent ends it after `leastMs`, a flip (where it may) at once. */
  rest: (ms: number, leastMs: number, mayFlipEnd: boolean) => Promise<void>;
  /** A report begins: what was urgent until now goes with it. */
  begin: () => void;
  /** Something urgent: ends this rest, or the next one, which begins when the request that is under way has ended. */
  hurry: () => void;
  /** There may be a flip. */
  wake: () => void;
}

export function resting(clock: Clock, stop: AbortSignal, isFlipped: () => boolean): Rest {
  const waits = wakeableWait(clock, stop);
  let isUrgent = false;
  let bucket: TokenBucket | undefined;

  /** A token is taken for each flip that is reported on its own. */
  function mayReportFlip(): boolean {
    if (!isFlipped()) return false;
    const taken = tryAccept(bucket, clock.nowMs() * 1000, FLIPS_AT_ONCE, FLIPS_PER_SECOND);
    bucket = taken ?? bucket;
    return taken !== null;
  }

  return {
    async rest(ms, leastMs, mayFlipEnd) {
      const beganMs = clock.nowMs();
      for (;;) {
        const restedMs = clock.nowMs() - beganMs;
        if (stop.aborted || restedMs >= ms || (isUrgent && restedMs >= leastMs)) return;
        if (mayFlipEnd && mayReportFlip()) return;
        await waits.wait((isUrgent ? leastMs : ms) - restedMs);
      }
    },
    begin: () => void (isUrgent = false),
    hurry() {
      isUrgent = true;
      waits.wake();
    },
    wake: waits.wake,
  };
}
