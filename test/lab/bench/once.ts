// Runs a long measurement only once when several rows of the table come from it.

/**
 * Returns a function that calls `work` once, on its first call. All later calls get the same result; their arguments
 * are ignored.
 */
export function once<Outcome, Arguments extends unknown[]>(
  work: (...args: Arguments) => Promise<Outcome>,
): (...args: Arguments) => Promise<Outcome> {
  let outcome: Promise<Outcome> | undefined;
  return (...args) => (outcome ??= work(...args));
}
