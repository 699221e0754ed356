// Waiting, as an argument: tests wait by their own clock.

/** Runs something once after a delay in ms; the result cancels it. Typically `afterTimeout`. */
export type After = (delayMs: number, run: () => void) => () => void;

export function afterTimeout(delayMs: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
}
