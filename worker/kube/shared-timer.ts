// Serves all deadlines of a Durable Object with one timer that is never cleared. workerd keeps about 270 bytes of
// each cleared timer while the object is in memory, and a gateway sends fifty requests a second. A timer belongs to its
// object, so objects of one isolate cannot share a timer.

/** Calls `over` once after `ms` milliseconds. Returns a function that cancels the call. */
export type Timer = (ms: number, over: () => void) => () => void;

interface Waiting {
  leftMs: number;
  beganMs: number;
  beganPassedMs: number;
  over: () => void;
}

/** Starts a timer that cannot be cleared. */
export type Ring = (tick: () => void, afterMs: number) => void;

/** The shortest tick. A pending tick keeps its object awake, so a request of some milliseconds needs short ticks. */
const LEAST_TICK_MS = 5;
/** The share of a tick in the time for which the timer has ticked without a pause. */
const TICK_SHARE = 1 / 8;
/**
 * The ratio of a tick to the delay of the tick before. In a busy thread each tick is delayed by the others: without this
 * ratio, thousands of waiting objects keep the thread busy with ticks alone.
 */
const TICK_PER_DELAY = 8;

/**
 * Returns a Timer that checks its deadlines with each tick while any is pending. A call is at most one tick late, and
 * the object stays awake one tick longer. The ticks grow from LEAST_TICK_MS to `longestMs`, faster in a busy thread. The
 * length of all ticks is added up as well, so that a clock that was put back extends no deadline.
 */
export function sharedTimer(longestMs: number, nowMs: () => number, ring: Ring): Timer {
  const waiting = new Set<Waiting>();
  let [passedMs, startedMs, delayMs, isTicking] = [0, 0, 0, false];
  const isOver = ({ leftMs, beganMs, beganPassedMs }: Waiting) =>
    nowMs() - beganMs >= leftMs || passedMs - beganPassedMs >= leftMs;
  const nextTickMs = () => {
    const grownMs = Math.max(TICK_SHARE * (passedMs - startedMs), TICK_PER_DELAY * delayMs);
    return Math.min(longestMs, Math.max(LEAST_TICK_MS, grownMs));
  };
  const start = () => {
    const [tickMs, beganMs] = [nextTickMs(), nowMs()];
    ring(() => tick(tickMs, nowMs() - beganMs - tickMs), tickMs);
  };
  const tick = (tickMs: number, lateMs: number) => {
    passedMs += tickMs;
    delayMs = lateMs;
    const late = [...waiting].filter(isOver);
    for (const each of late) waiting.delete(each);
    isTicking = waiting.size > 0;
    if (isTicking) start();
    // The callbacks run last, so that an exception in a callback does not stop the ticks.
    for (const { over } of late) over();
  };
  return (leftMs, over) => {
    if (!isTicking) {
      isTicking = true;
      [startedMs, delayMs] = [passedMs, 0];
      start();
    }
    // The tick in progress began before this call, so only the ticks after it count.
    const each = { leftMs, beganMs: nowMs(), beganPassedMs: passedMs + nextTickMs(), over };
    waiting.add(each);
    return () => void waiting.delete(each);
  };
}
