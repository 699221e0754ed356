// Runs a long measurement only once when several rows of the table come from it.

/**
 * Returns a function that calls `work` once. All calls get the first call's result, and may share no other state.
 */
export function once<Outcome, Arguments extends unknown[]>(
  work: (...args: Arguments) => Promise<Outcome>,
): (...args: Arguments) => Promise<Outcome> {
  let outcome: Promise<Outcome> | undefined;
  return (...args) => (outcome ??= work(...args));
}
