// The shim that the service runs: which version it is, and whether the Worker answers it. Asks nobody.
import { cgroupsOf } from "../base/process-id.ts";
import { isOfService } from "../identity/lock.ts";
import { bootID } from "../sources/kernel/ids.ts";
import { valueOr } from "../../shared/result.ts";
import { type LastingStatus, readLastingStatus, type SeenStatus, thisReader } from "./status-file.ts";

export interface ServiceShim {
  version: string;
  /** Has the Worker taken a report of this very process? */
  hasAnswer: boolean;
}

/** null: the service does not run, or has not said anything yet. One that somebody started otherwise is not it. */
export function serviceShim(state: string): ServiceShim | null {
  try {
    return shimOfService(readLastingStatus(state, thisReader(valueOr(bootID("/"), ""))), cgroupsOf);
  } catch {
    // Between two processes of the service, what is read of one may be gone.
    return null;
  }
}

/** `cgroups`: see cgroupsOf. */
export function shimOfService(
  seen: SeenStatus<LastingStatus> | null,
  cgroups: (pid: string) => string,
): ServiceShim | null {
  if (!seen?.isRunning) return null;
  const { shim, process, answer } = seen.file;
  const [pid = ""] = process.split(" ");
  return isOfService(cgroups(pid)) ? { version: shim, hasAnswer: answer !== undefined } : null;
}
