// Reads the clock and starts timers. No other module of the page does so.

/** Returns milliseconds since 1970, by the computer's clock. */
export const nowMs = (): number => Date.now();

/** Returns milliseconds since the page was opened, for measurements of speed. */
export const elapsedMs = (): number => performance.now();

/** Calls `act` once, after `ms` milliseconds. Returns a function that cancels the call. */
export function later(act: () => void, ms: number): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/** Calls `act` every `ms` milliseconds, as long as the page is open. */
export function every(ms: number, act: () => void): void {
  setInterval(act, ms);
}

/** Returns a signal that aborts after `ms` milliseconds, with a TimeoutError. */
export const abortAfter = (ms: number): AbortSignal => AbortSignal.timeout(ms);
