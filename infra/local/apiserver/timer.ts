// Time, as arguments: tests have a clock of their own. The one module of the apiserver that reads a clock or starts a timer.

/** Runs something once after a delay in ms; the result cancels it. Typically `afterTimeout`. */
export type After = (delayMs: number, run: () => void) => () => void;

export function afterTimeout(delayMs: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
}

/** Runs something every `periodMs`; the result ends it. Typically `everyPeriod`. */
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
