// Keeps a slow source from holding up more than the first report. Knows nothing of what is asked.
import type { Reading } from "./reading.ts";

/**
 * `call`, asked each time and waited for the first time only: from then on the answer is the latest one there was, so
 * that a change is noticed one report later. `call` never rejects, and ends (see oneAtATime).
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
