// Counts the updates of lease and status that fail although the one before failed as well (upstream
// onRepeatedHeartbeatFailure, which closes connections: here there are none to close).
import type { TickContext } from "./context.ts";

/** What is to be updated. */
export type Renewed = "lease" | "status";

/** `what` could not be updated, twice or more in a row. Each is a line of the log, with how many there were so far. */
export function repeatedHeartbeatFailure(
  { memory, log }: Pick<TickContext, "memory" | "log">,
  what: Renewed,
): void {
  const failures = { lease: 0, status: 0, ...memory.repeatedFailures };
  failures[what]++;
  memory.repeatedFailures = failures;
  log(`${what}: another update in a row has failed, ${failures[what]} so far`);
}
