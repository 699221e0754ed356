// Records what a report shows apart from the Node: that the machine reports, that its clock is off, that its shim could
// not set up. Adds a line of history when that changes, and no row when it does not.
import { type BootAndProcess, returnText } from "../../shared/fleet/return.ts";
import { NO_ANSWER } from "../../shared/fleet/silence.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { isOtherSkew, MAX_SKEW_MS } from "../../shared/quiet/quiet.ts";
import { noteLapse } from "../tick/own-node.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { allowanceAt } from "../storage/allowance.ts";
import { fromTo } from "../storage/from-to.ts";
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

// Records that a machine had no answer for a while: the Worker was away, or the network in between. Only the machine can
// tell, and it tells a duration alone: the times are by this clock, whatever the machine's says.

/** Lines of history, whatever a machine says: six at once, then six an hour. */
export const OUTAGE_LINES = { atOnce: 6, everyMs: 600_000 } as const;
/** The same outage is told again when the answer was lost; its begin is as exact as the network and whole seconds. */
const SAME_WITHIN_MS = 5000;

/** Call it for each fresh report that is applied. Two rows for an outage, none without. */
export function recordOutage(
  { records, journal }: Stored,
  { noAnswerSeconds }: Pick<Report, "noAnswerSeconds">,
  nowMs: number,
): void {
  if (noAnswerSeconds === undefined) return;
  const sinceMs = nowMs - 1000 * noAnswerSeconds;
  const before = records.get("outage");
  if (before && Math.abs(sinceMs - before.sinceMs) <= SAME_WITHIN_MS) return;
  const left = allowanceAt(before, OUTAGE_LINES, nowMs);
  if (left < 1) return;
  records.put("outage", { left: left - 1, atMs: nowMs, sinceMs });
  journal.note("silence", NO_ANSWER + fromTo(sinceMs, nowMs), nowMs);
}
