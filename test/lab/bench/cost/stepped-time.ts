// Makes a clock that moves only on request: work at one moment takes no time, however busy the computer is.
import type { Every } from "../../../../infra/local/apiserver/timer.ts";
import type { After } from "../../../../infra/local/apiserver/timer.ts";

export interface SteppedTime {
  /** Returns the current time, in milliseconds since 1970. */
  nowMs: () => number;
  after: After;
  /** Runs the callback once at each step of the clock, however far the clock moves. */
  every: Every;
  /** Returns the time of the first timer of `after`, in milliseconds since 1970. */
  nextMs: () => number;
  /** Moves the clock to this time and runs the due timers in order. */
  goTo: (atMs: number) => void;
}

export function steppedTime(startMs: number): SteppedTime {
  let nowMs = startMs;
  const timers = new Set<{ atMs: number; run: () => void }>();
  const periodic = new Set<() => void>();
  return {
    nowMs: () => nowMs,
    after(delayMs, run) {
      const timer = { atMs: nowMs + delayMs, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    every(periodMs, run) {
      let lastMs = nowMs;
      const look = () => {
        if (nowMs - lastMs < periodMs) return;
        lastMs = nowMs;
        run();
      };
      periodic.add(look);
      return () => void periodic.delete(look);
    },
    nextMs: () => Math.min(Number.POSITIVE_INFINITY, ...[...timers].map(({ atMs }) => atMs)),
    goTo(atMs) {
      nowMs = Math.max(nowMs, atMs);
      const due = [...timers].filter((timer) => timer.atMs <= nowMs).sort((a, b) => a.atMs - b.atMs);
      for (const timer of due) if (timers.delete(timer)) timer.run();
      for (const look of periodic) look();
    },
  };
}
