// Decides what follows a failed enrolment: when to ask again and what to log, or that asking again is no use.
import type { RequestFault } from "./exchange.ts";
import type { LogMessage } from "../base/log-table.ts";

/** The Worker could not be reached or had a fault: full jitter below this. */
const FAILURE_WAIT_MS = 5000;
/** An operator has to approve: people are slow, and a Worker has many machines. Up to twice this. */
const APPROVAL_WAIT_MS = 30_000;

/**
 * Throws, with what to do, where the machine was refused. `token`: the ID of the join token, which is no secret: operators
 * find it in their list and logs. `random`: typically Math.random.
 */
export function afterEnrolment(
  fault: RequestFault,
  token: string,
  random: () => number,
): { waitMs: number; say: LogMessage } {
  const { retryAfterMs = 0 } = fault;
  if (fault.reason === "failed") {
    const waitMs = retryAfterMs || random() * FAILURE_WAIT_MS;
    return { waitMs, say: `enrolment failed: ${fault.message}; trying again` };
  }
  const { title, detail, reason, status } = fault.problem;
  if (reason === "name-pinned") {
    const waitMs = Math.max(retryAfterMs, APPROVAL_WAIT_MS * (1 + random()));
    return { waitMs, say: `waiting for an operator: ${title}. ${detail} Join token: ${token}` };
  }
  // The network held it up until the challenge was good no more, or the name has just changed.
  const isLate = reason === "challenge-stale";
  if (status < 500 && status !== 429 && !isLate)
    throw new Error(`enrolment refused: ${title}. ${detail} Join token: ${token}`);
  // It will not pass by itself: whoever reads the log has to know whom to ask.
  const said = reason === "not-configured" ? `${title}. ${detail}` : title;
  return {
    waitMs: retryAfterMs || random() * FAILURE_WAIT_MS,
    say: `enrolment failed: ${said}; trying again`,
  };
}
