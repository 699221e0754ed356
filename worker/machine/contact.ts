// Records what a report shows apart from the Node: that the machine reports, that its clock is off, that its shim could
// not set up. Adds a line of history when that changes, and no row when it does not.
import type { Report } from "../../shared/protocol/report.ts";
import { noteLapse } from "../tick/own-node.ts";
import type { Stored } from "../storage/journal.ts";

/** A clock that is off by more than this is recorded. */
const MAX_SKEW_MS = 60_000;

/** Call it for each fresh report that is applied: it ends a silence. */
export function recordContact({ records, journal }: Stored, { machineTime }: Report, nowMs: number): void {
  const skewMs = Date.parse(machineTime) - nowMs;
  const isSkewed = Math.abs(skewMs) > MAX_SKEW_MS;
  if (isSkewed !== (records.get("isSkewed") ?? false)) {
    records.put("isSkewed", isSkewed);
    const text = isSkewed ? `is ${Math.round(skewMs / 1000)} s off` : "is right again";
    journal.note("clock", `the machine's clock ${text}`, nowMs);
  }
  records.remove("apiserverBackSinceMs");
  const silentSinceMs = records.get("silentSinceMs");
  if (!silentSinceMs) return;
  noteLapse(records);
  records.put("silentSinceMs", null);
  journal.note("silence", `heard of again after ${Math.round((nowMs - silentSinceMs) / 1000)} s`, nowMs);
}

/**
 * The shim could not set up and ends. It is the kubelet's event (initializeModules failed), except where somebody else
 * has the Node.
 */
export function recordSetupFailure({ records, journal }: Stored, setupError: string, nowMs: number): void {
  if (records.get("registration")?.phase === "name taken") journal.note("registration", setupError, nowMs);
  else journal.warn("KubeletSetupFailed", setupError, nowMs);
}
