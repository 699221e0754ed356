// Provides the Worker's clock and timers. No other file of the Worker reads the time or starts a timer, so that
// tests can put a virtual clock in place of this file (test/worker/support/clock.ts).
import { sharedTimer, type Timer } from "./kube/shared-timer.ts";

/** Returns milliseconds since 1970. */
export const currentMs = (): number => Date.now();

export type { Timer };

/** Calls `ring` after `ms` milliseconds. An object uses its own timer, because workerd keeps each cancelled timer. */
export const after: Timer = (ms, ring) => {
  const timer = setTimeout(ring, ms);
  return () => clearTimeout(timer);
};

/** Resolves after `ms` milliseconds. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve));

/** Returns a Timer that serves all waits of one Durable Object with one timeout. Each wait ends `longestMs` late at most. */
export const oneTimer = (longestMs: number): Timer =>
  sharedTimer(longestMs, currentMs, (tick, ms) => void setTimeout(tick, ms));
