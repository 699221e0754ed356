// Time: the one module of the page that reads a clock or starts a timer.

/** Milliseconds since 1970, by the computer's clock. */
export const nowMs = (): number => Date.now();

/** Milliseconds since the page was opened, for performance measures. */
export const elapsedMs = (): number => performance.now();

/** Calls `act` once, after `ms`. The returned function cancels it. */
export function later(act: () => void, ms: number): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/** Calls `act` every `ms`, for as long as the page is open. */
export function every(ms: number, act: () => void): void {
  setInterval(act, ms);
}

/** Returns a signal that aborts after `ms`, with a TimeoutError. */
export const abortAfter = (ms: number): AbortSignal => AbortSignal.timeout(ms);
