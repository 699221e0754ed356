// Decides whether a machine's lease may be lent, and for how long: only while nothing is waiting to be done, and nothing but
// another report could change anything. Pure.
import type { StandingOrder } from "./lease-loan.ts";
import { isDisputed } from "../../shared/node/duplicate-senders.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { quietForMs, quietOf } from "../../shared/quiet/quiet.ts";
import { customSetters } from "../../shared/setters/custom.ts";
import { lastPhase } from "../tick/phase.ts";
import { dueInMs } from "../tick/status.ts";
import type { MachineState } from "./machine-state.ts";
import type { Upkeep } from "./upkeep.ts";

interface LendingSituation extends Pick<MachineState, "records" | "keys" | "facts" | "senders" | "outbox"> {
  upkeep: Pick<Upkeep, "isIdle" | "lendable">;
  /** The last one. */
  report: Report;
  nowMs: number;
}

type Lendable = Pick<StandingOrder, "lease" | "leaseMs" | "intervalMs" | "quietForMs" | "quiet">;

/** null: every report has to come here. */
export function lendable(situation: LendingSituation): Lendable | null {
  const { facts: known, upkeep, report, nowMs, records } = situation;
  const facts = known.current();
  if (!facts || !isSettled(situation)) return null;
  const found = upkeep.lendable(facts);
  if (
    !found ||
    found.memory.leaseBackOff ||
    found.memory.statusBackOff ||
    found.memory.withheld !== undefined
  )
    return null;
  const { memory, lease } = found;
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
 * Returns in how many milliseconds the Node changes its form, as if its status were due. A turn that is older than a whole
 * status was used: another writer keeps the labels as they are.
 */
function formTurnInMs(
  records: LendingSituation["records"],
  nodeStatusReportFrequencyMs: number,
  nowMs: number,
): number {
  const inMs = (records.get("formTurn")?.atMs ?? Infinity) - nowMs;
  return inMs < -nodeStatusReportFrequencyMs ? Infinity : Math.max(0, inMs);
}

/** Is all done, and is there one sender alone? */
function isSettled({
  records,
  keys,
  facts,
  senders,
  outbox,
  upkeep,
  report,
  nowMs,
}: LendingSituation): boolean {
  return (
    upkeep.isIdle &&
    outbox.isEmpty() &&
    keys.enrolled() !== null &&
    lastPhase(records) === "registered" &&
    records.get("registration")?.phase === "registered" &&
    records.get("registration")?.startId === report.startId &&
    records.get("node")?.readAgain === false &&
    // What was put back is forgotten with time.
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
