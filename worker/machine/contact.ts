// Records what a report shows apart from the Node: that the machine reports, that its clock is off, that its shim could
// not set up. Adds a line of history when that changes, and no row when it does not.
import { returnText, type BootAndProcess } from "../../shared/fleet/return.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { isOtherSkew, MAX_SKEW_MS } from "../../shared/quiet/quiet.ts";
import { noteLapse } from "../tick/own-node.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import type { Stored } from "../storage/journal.ts";

const UNKNOWN: BootAndProcess = { boot: undefined, process: undefined };

/** Call it for each fresh report that is applied: it ends a silence. `before`: what ran until then. */
export function recordContact(
  stored: Stored,
  { machineTime, startId, noAnswerSeconds }: Report,
  nowMs: number,
  before: BootAndProcess,
): void {
  recordClock(stored, Date.parse(machineTime) - nowMs, nowMs);
  const after = { boot: runningOf(stored.records).boot, process: startId };
  recordReturn(stored, nowMs, { before, after, noAnswerSeconds });
}

function recordClock({ records, journal }: Stored, skewMs: number, nowMs: number): void {
  const isSkewed = Math.abs(skewMs) > MAX_SKEW_MS;
  if (isSkewed && isOtherSkew(skewMs, records.get("skewMs") ?? 0))
    records.put("skewMs", 1000 * Math.round(skewMs / 1000));
  if (isSkewed === (records.get("isSkewed") ?? false)) return;
  records.put("isSkewed", isSkewed);
  if (!isSkewed) records.remove("skewMs");
  const text = isSkewed ? `is ${Math.round(skewMs / 1000)} s off` : "is right again";
  journal.note("clock", `the machine's clock ${text}`, nowMs);
}

/** The machine is there, whatever becomes of its report: it ends a silence. No row where there is none. */
export function recordReturn(
  { records, journal }: Stored,
  nowMs: number,
  ran: { before: BootAndProcess; after: BootAndProcess; noAnswerSeconds?: number | undefined } = {
    before: UNKNOWN,
    after: UNKNOWN,
  },
): void {
  records.remove("apiserverBackSinceMs");
  const silentSinceMs = records.get("silentSinceMs") ?? null;
  if (silentSinceMs === null) return;
  noteLapse(records);
  records.put("silentSinceMs", null);
  journal.note("silence", returnText({ ...ran, silentSinceMs, nowMs }), nowMs);
}

/** Which boot reported last, and which process of the shim. */
export function runningOf(records: NodeRecordStore): BootAndProcess {
  return { boot: records.get("facts")?.facts.machine?.bootID, process: records.get("process")?.startId };
}

/** Has the machine ever reported with the pin in use? The registry has confirmed its key then. */
export function hasReported(records: NodeRecordStore): boolean {
  const { generation = 0 } = records.get("enrolment") ?? {};
  return records.get("settled")?.key.split(" ")[0] === String(generation);
}

/**
 * The shim could not set up and ends. It is the kubelet's event (initializeModules failed), except where somebody else
 * has the Node.
 */
export function recordSetupFailure({ records, journal }: Stored, setupError: string, nowMs: number): void {
  if (records.get("registration")?.phase === "name taken") journal.note("registration", setupError, nowMs);
  else journal.warn("KubeletSetupFailed", setupError, nowMs);
}
