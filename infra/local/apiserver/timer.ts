// Defines the apiserver's clock and timers. Clock and timers are passed as arguments, so that tests can replace them.

/** Calls `run` once after the delay. Returns a function that cancels the call. Typically `afterTimeout`. */
export type After = (delayMs: number, run: () => void) => () => void;

export function afterTimeout(delayMs: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
}

/** Calls `run` every `periodMs` milliseconds. Returns a function that ends the calls. Typically `everyPeriod`. */
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
