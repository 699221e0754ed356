// Keeps a slow source from delaying more than the first report.
import type { Reading } from "./reading.ts";

/**
 * Calls `call` each time, but waits only for the first result of an argument. Later it returns the latest result, so
 * that a change is noticed one report later. `call` must not reject, and must end (see oneAtATime).
 */
export function inBackground<R>(
  call: (argument: string) => Promise<Reading<R>>,
): (argument: string) => Promise<Reading<R>> {
  const latest = new Map<string, Reading<R>>();
  return async (argument) => {
    const asked = call(argument).then((reading) => {
      latest.set(argument, reading);
      return reading;
    });
    return latest.get(argument) ?? asked;
  };
}
