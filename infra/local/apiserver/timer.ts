// The apiserver's clock and timers. They are passed as arguments, because tests have other ones.

/** Calls `run` once after the delay. The returned function cancels it. Typically `afterTimeout`. */
export type After = (delayMs: number, run: () => void) => () => void;

export function afterTimeout(delayMs: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
}

/** Calls `run` every `periodMs`. The returned function ends it. Typically `everyPeriod`. */
export type Every = (periodMs: number, run: () => void) => () => void;

export function everyPeriod(periodMs: number, run: () => void): () => void {
  const timer = setInterval(run, periodMs);
  return () => clearInterval(timer);
}

export function wallClock(): Date {
  return new Date();
}

/** Resolves in a later turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
