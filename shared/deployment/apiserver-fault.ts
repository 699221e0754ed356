// Finds the apiserver's fault in the Worker's checks, for page and command line: what they show is then out of date.
import type { ReadinessAnswer } from "../protocol/operator-answers.ts";

export interface ApiserverFault {
  /** The time since when the apiserver fails, in RFC 3339. */
  since: string;
  /** The fault without its subject and full stop: `does not answer: fetch failed`. */
  text: string;
}

/** Returns the apiserver's fault; null if it works. */
export function apiserverFault({ checks }: Pick<ReadinessAnswer, "checks">): ApiserverFault | null {
  const failed = checks.find(({ check, state }) => check === "apiserver" && state === "failed");
  return failed ? { since: failed.since, text: failed.message.replace(/^it |\.$/g, "") } : null;
}
