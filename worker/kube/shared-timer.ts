// Serves all deadlines of a Durable Object with one timer that is never cleared. workerd keeps about 270 bytes of
// each cleared timer while the object is in memory, and a gateway sends fifty requests a second.

/** Calls `over` once after `ms` milliseconds. Returns a function that cancels the call. */
export type Timer = (ms: number, over: () => void) => () => void;

interface Waiting {
  leftMs: number;
  beganMs: number;
  beganTick: number;
  over: () => void;
}

/** Starts a timer that cannot be cleared. */
export type Ring = (tick: () => void, afterMs: number) => void;

/**
 * Returns a Timer that checks its deadlines every `tickMs` while any is pending. A call is at most one tick late,
 * and the object stays awake one tick longer. Ticks are counted as well, so that a clock that was put back extends
 * no deadline.
 */
export function sharedTimer(tickMs: number, nowMs: () => number, ring: Ring): Timer {
  const waiting = new Set<Waiting>();
  let [ticks, isTicking] = [0, false];
  const isOver = ({ leftMs, beganMs, beganTick }: Waiting) =>
    nowMs() - beganMs >= leftMs || (ticks - beganTick - 1) * tickMs >= leftMs;
  const tick = () => {
    ticks++;
    const late = [...waiting].filter(isOver);
    for (const each of late) waiting.delete(each);
    isTicking = waiting.size > 0;
    if (isTicking) ring(tick, tickMs);
    // The callbacks run last, so that an exception in a callback does not stop the ticks.
    for (const { over } of late) over();
  };
  return (leftMs, over) => {
    const each = { leftMs, beganMs: nowMs(), beganTick: ticks, over };
    waiting.add(each);
    if (!isTicking) ring(tick, tickMs);
    isTicking = true;
    return () => void waiting.delete(each);
  };
}
