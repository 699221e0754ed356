// Waits between two reports, and ends the wait early. The caller decides how long it is, and what is urgent.
import { type TokenBucket, tryAccept } from "../../shared/events/token-bucket.ts";
import { type Clock, wakeableWait } from "../base/clock.ts";

/** Flips besides the periodic reports: five at once, then five a minute. Faster ones wait for the next report. */
const FLIPS_AT_ONCE = 5;
const FLIPS_PER_SECOND = 5 / 60;

export interface Rest {
  /** Waits `ms`; something urgent ends the wait after `leastMs`, a flip (where it may) at once. */
  rest: (ms: number, leastMs: number, mayFlipEnd: boolean) => Promise<void>;
  /** Call it when a report begins: it includes what was urgent until now. */
  begin: () => void;
  /** Call it for something urgent: ends this wait or, during a request, the wait that follows. */
  hurry: () => void;
  /** Call it when there may be a flip. */
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
