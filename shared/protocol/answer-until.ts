// Defines the headers with which a machine states until when it waits for an answer, so that a busy Worker can refuse a
// late request before it does any work for the request.

/** The name of the header. Its value is a time in milliseconds since 1970. */
export const ANSWER_UNTIL = "rollcall-until";

/** The name of the answers' header with the Worker's time, in the same form. Proxies such as nginx replace `Date`. */
export const WORKER_TIME = "rollcall-time";

/** The time that a busy Worker needs for an answer: half of the time for which a shim waits. */
export const BUSY_ANSWER_MS = 4500;

/** Returns true if the machine would hardly wait for the answer. `until`: the header; without it, no request is late. */
export function isTooLate(until: string | undefined, nowMs: number): boolean {
  return Number(until ?? Infinity) - nowMs < BUSY_ANSWER_MS;
}
