// A clock for tests, which advances only when a test advances it.
import type { Clock } from "../../../node-shim/base/clock.ts";

interface Timer {
  atMs: number;
  callback: () => void;
}

/** Waits until everything has run that waits only for promises. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => void setImmediate(resolve));
}

export function fakeClock(): Clock & {
  /** Advances the clock, and calls back the timers that become due, in their order. */
  pass: (ms: number) => Promise<void>;
  /** Advances the clock without the timers, as a suspend does. */
  suspend: (ms: number) => void;
  /** Returns the number of pending timers. Each of them would keep a process alive. */
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
