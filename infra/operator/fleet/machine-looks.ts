// Looks at machines again and again: by ETag, so that a look at which nothing has changed costs next to nothing.
import { type Result, success } from "../../../shared/result.ts";
import type { WorkerConnection } from "../client.ts";
import type { OperatorFault } from "../fault.ts";
import { askMachines, type MachineWish } from "./ask-machines.ts";
import type { FoundMachines } from "./machine-list.ts";

export interface MachineLooks {
  /** null: nothing has changed since the last one. */
  next: () => Promise<Result<FoundMachines | null, OperatorFault>>;
}

/** A Worker that cannot be reached for a moment, or is deployed anew, does not end who waits for it. */
const FAILURES_IN_A_ROW = 5;

export function machineLooks(connection: WorkerConnection, wish: MachineWish): MachineLooks {
  let etag: string | undefined;
  let failures = 0;
  let hasAnswered = false;
  return {
    next: async () => {
      const found = await askMachines(connection, wish, etag);
      if (found.ok) {
        failures = 0;
        hasAnswered = true;
        ({ etag } = found.value);
        return success(found.value.isUnchanged ? null : found.value);
      }
      const passes = found.error.reason === "unreachable" || found.error.reason === "failed";
      failures++;
      return hasAnswered && passes && failures < FAILURES_IN_A_ROW ? success(null) : found;
    },
  };
}
