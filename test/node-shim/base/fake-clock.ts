// Time for tests: passes only when it is told to.
import type { Clock } from "../../../node-shim/base/clock.ts";

interface Timer {
  atMs: number;
  callback: () => void;
}

/** Lets everything run that waits for nothing but other promises. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => void setImmediate(resolve));
}

export function fakeClock(): Clock & {
  /** Time passes, and timers ring in their order. */
  pass: (ms: number) => Promise<void>;
  /** Time passes, and no timer notices. */
  suspend: (ms: number) => void;
  /** How many timers have not rung: each would keep a process from ending. */
  timers: () => number;
} {
  let nowMs = 1_000_000;
  const timers = new Set<Timer>();
  const earliest = () => [...timers].toSorted((a, b) => a.atMs - b.atMs)[0];
  return {
    nowMs: () => nowMs,
    timer(ms, callback) {
      const timer = { atMs: nowMs + ms, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async pass(ms) {
      const untilMs = nowMs + ms;
      await settle();
      for (let next = earliest(); next && next.atMs <= untilMs; next = earliest()) {
        timers.delete(next);
        nowMs = next.atMs;
        next.callback();
        await settle();
      }
      nowMs = untilMs;
    },
    timers: () => timers.size,
    suspend(ms) {
      nowMs += ms;
      for (const timer of timers) timer.atMs += ms;
    },
  };
}
