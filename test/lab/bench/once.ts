// Runs a long measurement only once when it yields several rows of the table.

/** Returns the first call's result for all calls, which may share no other state. */
export function once<Outcome, Arguments extends unknown[]>(
  work: (...args: Arguments) => Promise<Outcome>,
): (...args: Arguments) => Promise<Outcome> {
  let outcome: Promise<Outcome> | undefined;
  return (...args) => (outcome ??= work(...args));
}
