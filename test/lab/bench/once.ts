// One long measurement that yields several rows of the table is made once.

/** The first call's outcome for all calls, which may share nothing else. */
export function once<Outcome, Arguments extends unknown[]>(
  work: (...args: Arguments) => Promise<Outcome>,
): (...args: Arguments) => Promise<Outcome> {
  let outcome: Promise<Outcome> | undefined;
  return (...args) => (outcome ??= work(...args));
}
