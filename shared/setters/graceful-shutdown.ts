// Sets the lifecycle condition about an orderly shutdown of the machine (KEP-5683).
import { setCondition } from "../kubernetes/conditions.ts";
import { SHUTDOWN_IN_PROGRESS } from "../kubernetes/lifecycle-conditions.ts";
import type { Setter } from "./setter.ts";

/** Returns the setter of GracefulNodeShutdownInProgress. A Node without the condition gets it with its first shutdown. */
export function gracefulShutdown(
  now: string,
  isShuttingDown: boolean, // typically from the vitals
): Setter {
  return ({ status }) => {
    const known = status.conditions?.find(({ type }) => type === SHUTDOWN_IN_PROGRESS);
    if (!isShuttingDown && !known) return null;
    setCondition(status, now, {
      type: SHUTDOWN_IN_PROGRESS,
      status: isShuttingDown ? "True" : "False",
      reason: "NodeShutdown",
      message: isShuttingDown
        ? "the machine is shutting down"
        : "the machine has started again, or did not shut down",
    });
    return null;
  };
}
