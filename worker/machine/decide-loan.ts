// Decides whether a machine's object may lend the lease, and for how long. It may if no work waits, and only another report
// could change anything. Pure.
import { isDisputed } from "../../shared/node/duplicate-senders.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { quietForMs, quietOf } from "../../shared/quiet/quiet.ts";
import { customSetters } from "../../shared/setters/custom.ts";
import { lastPhase } from "../tick/phase.ts";
import { dueInMs } from "../tick/status.ts";
import type { LeaseLoan } from "./lease-loan.ts";
import type { MachineState } from "./machine-state.ts";
import type { Upkeep } from "./upkeep.ts";

interface LendingSituation extends Pick<MachineState, "records" | "keys" | "facts" | "senders" | "outbox"> {
  upkeep: Pick<Upkeep, "isIdle" | "leaseToLend">;
  /** The last one. */
  report: Report;
  nowMs: number;
}

type DecidedLoan = Pick<LeaseLoan, "lease" | "leaseMs" | "intervalMs" | "quietForMs" | "quiet">;

/** Returns what the object decides of a loan; null if it lends nothing. */
export function decideLoan(situation: LendingSituation): DecidedLoan | null {
  const { facts: known, upkeep, report, nowMs, records } = situation;
  const facts = known.current();
  if (!facts || !isSettled(situation)) return null;
  const found = upkeep.leaseToLend(facts);
  if (!found) return null;
  const { memory, lease } = found;
  if (memory.leaseBackOff || memory.statusBackOff || memory.withheld !== undefined) return null;
  const intervalMs = reportIntervalMs(known.timing());
  const turnInMs = formTurnInMs(records, facts.settings.nodeStatusReportFrequencyMs, nowMs);
  const statusDueInMs = Math.min(turnInMs, dueInMs({ memory, records, facts }, nowMs));
  const { vitals } = report;
  const clock = { isSkewed: records.get("isSkewed") ?? false, skewMs: records.get("skewMs") ?? 0 };
  const quiet =
    memory.setters && quietOf({ facts, vitals, memory: memory.setters, clock, custom: customSetters });
  if (!quiet) return null;
  const forMs = quietForMs(quiet, vitals, { statusDueInMs, intervalMs });
  return forMs > 0 ? { lease, leaseMs: known.leaseMs(), intervalMs, quietForMs: forMs, quiet } : null;
}

/**
 * Returns the milliseconds until the Node changes its form, which counts as a status that is due. A turn from
 * before the last status was used already: another writer keeps the labels.
 */
function formTurnInMs(
  records: LendingSituation["records"],
  nodeStatusReportFrequencyMs: number,
  nowMs: number,
): number {
  const inMs = (records.get("formTurn")?.atMs ?? Infinity) - nowMs;
  return inMs < -nodeStatusReportFrequencyMs ? Infinity : Math.max(0, inMs);
}

/** Is no work left, and is there exactly one sender? */
function isSettled(situation: LendingSituation): boolean {
  const { records, keys, facts, senders, outbox, upkeep, report, nowMs } = situation;
  return (
    upkeep.isIdle &&
    outbox.isEmpty() &&
    keys.enrolled() !== null &&
    lastPhase(records) === "registered" &&
    records.get("registration")?.phase === "registered" &&
    records.get("registration")?.startId === report.startId &&
    records.get("node")?.readAgain === false &&
    // The record of restored values expires.
    records.get("putBack") === undefined &&
    (records.get("silentSinceMs") ?? null) === null &&
    records.get("apiserverBackSinceMs") === undefined &&
    facts.refused === undefined &&
    facts.has(report.factsDigest) &&
    facts.incumbent?.startId === report.startId &&
    !senders.seen.double &&
    senders.seen.waitingSinceMs === undefined &&
    !isDisputed(senders.seen, nowMs)
  );
}
