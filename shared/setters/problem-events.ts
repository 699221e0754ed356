// Records the events of a machine's problem detectors, each once.
import type { Problems } from "../protocol/problems.ts";
import type { RecordAnyEvent, Setter } from "./setter.ts";

/** The last recorded event: the shim's process and the event's number. The caller stores it through restarts. */
export interface ProblemState {
  start: string;
  n: number;
}

/** Returns a setter that records the events after the last recorded one, and updates `state`. */
export function problemEvents(
  state: ProblemState,
  problems: Problems | undefined, // typically from the facts
  mayRecord: (name: string) => boolean, // whether the grant allows a reason, or the type of a condition
  recordEvent: RecordAnyEvent,
  leaveOut: (part: string) => void, // called with an event that the grant does not allow
): Setter {
  return () => {
    if (problems === undefined) return null;
    const { start, events } = problems;
    const last = state.start === start ? state.n : 0;
    for (const { n, type, reason, message, condition } of events) {
      if (!mayRecord(condition ?? reason)) leaveOut(`event ${reason}`);
      else if (n > last) recordEvent(type, reason, message);
    }
    state.start = start;
    state.n = Math.max(last, events.at(-1)?.n ?? 0);
    return null;
  };
}
