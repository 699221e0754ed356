// Time for tests, which passes only when a test calls it.
import type { Clock } from "../../../node-shim/base/clock.ts";

interface Timer {
  atMs: number;
  callback: () => void;
}

/** Runs everything that waits for other promises only. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => void setImmediate(resolve));
}

export function fakeClock(): Clock & {
  /** Lets time pass, and rings timers in their order. */
  pass: (ms: number) => Promise<void>;
  /** Lets time pass without a timer, as in a suspend. */
  suspend: (ms: number) => void;
  /** Returns the number of timers that have not rung: each would keep a process alive. */
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
