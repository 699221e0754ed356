// One timer for all that an object waits for, which is never cleared. workerd forgets a timer that has rung; of one that was
// cleared it keeps some 270 bytes for as long as the object is in memory, and a gateway begins fifty requests a second.

/** Calls `over` once after `ms` milliseconds, unless the function that it returns is called before. */
export type Timer = (ms: number, over: () => void) => () => void;

interface Waiting {
  leftMs: number;
  beganMs: number;
  beganTick: number;
  over: () => void;
}

/** Begins a timer that nobody can clear. */
export type Ring = (tick: () => void, afterMs: number) => void;

/**
 * Looks every `tickMs` while anybody waits: they are told late by one tick at most, and the object stays awake for as long
 * after the last one. Ticks count as well as the clock: one that is put back makes nobody wait for longer.
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
    // Last: whatever these do, the others are told in their time.
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
