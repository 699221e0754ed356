// Records what a report shows beyond the Node: the end of a silence, a wrong clock, an outage, a failed set-up.
import { type BootAndProcess, NO_ANSWER, returnText } from "../../shared/fleet/history-lines.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { isOtherSkew, MAX_SKEW_MS } from "../../shared/quiet/quiet.ts";
import { noteLapse } from "../tick/own-node.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { RATE_LIMITS, take } from "../storage/token-bucket.ts";
import { fromTo } from "../storage/from-to.ts";
import type { Stored } from "../storage/journal.ts";

const UNKNOWN: BootAndProcess = { boot: undefined, process: undefined };

/** Records the machine's clock and ends a silence, for each applied report. `before`: the shim's boot and process. */
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

/** Ends the machine's silence, also for a report that is not applied. Writes no row if the machine was not silent. */
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

/** Returns the boot and the process of the shim that reported last. */
export function runningOf(records: NodeRecordStore): BootAndProcess {
  return { boot: records.get("facts")?.facts.machine?.bootID, process: records.get("process")?.startId };
}

/** Returns true if the machine has reported with its current pin, whose key the registry has then confirmed. */
export function hasReported(records: NodeRecordStore): boolean {
  const { generation = 0 } = records.get("enrolment") ?? {};
  return records.get("settled")?.key.split(" ")[0] === String(generation);
}

/**
 * Records that the shim could not set up and ends. The event is the kubelet's (initializeModules failed). If
 * another deployment has the Node, records only a line of history.
 */
export function recordSetupFailure({ records, journal }: Stored, setupError: string, nowMs: number): void {
  if (records.get("registration")?.phase === "name taken") journal.note("registration", setupError, nowMs);
  else journal.warn("KubeletSetupFailed", setupError, nowMs);
}

/**
 * The largest difference, in milliseconds, between two begins that a machine reports for one outage. Without an
 * answer a machine repeats its report, and the network's delay and rounding shift the begin.
 */
const SAME_WITHIN_MS = 5000;

/** Records that the machine got no answer from the Worker for a while. Writes two rows per outage. */
export function recordOutage(
  { records, journal }: Stored,
  { noAnswerSeconds }: Pick<Report, "noAnswerSeconds">,
  nowMs: number,
): void {
  if (noAnswerSeconds === undefined) return;
  const sinceMs = nowMs - 1000 * noAnswerSeconds;
  const before = records.get("outage");
  if (before && Math.abs(sinceMs - before.sinceMs) <= SAME_WITHIN_MS) return;
  const { isTaken, bucket } = take(before, RATE_LIMITS.outageLines, nowMs);
  if (!isTaken) return;
  records.put("outage", { ...bucket, sinceMs });
  journal.note("silence", NO_ANSWER + fromTo(sinceMs, nowMs), nowMs);
}
