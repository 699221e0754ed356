// All that a machine's object knows of its machine, as an operator is shown it. Asks and changes nothing.
import { kubeletsAllocatable } from "../../shared/from-report/reported-node.ts";
import { effectiveEvictionHard } from "../../shared/resources/eviction.ts";
import type { WholeNode } from "../../shared/protocol/operator-answers.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { isRegisteredReady, lastPhase } from "../tick/phase.ts";
import type { MachineState } from "./machine-state.ts";
import { neededRuntime } from "./needed-runtime.ts";
import { shownEvents } from "./shown-events.ts";
import type { ReturnedOrder } from "./standing-order.ts";
import { shownManagers } from "./shown-managers.ts";

/** What an eviction loses. Times are milliseconds since 1970; undefined: not known (any more). */
export interface LatestOfMachine {
  report: Report | undefined;
  /** When that came. */
  reportMs: number;
  /** When any came, counted or not. */
  contactMs: number | undefined;
  renewedMs: number | undefined;
  statusMs: number | null | undefined;
}

/** All but what the fleet index has. */
export type ShownByObject = Omit<WholeNode, "summary">;

const at = (ms: number | null | undefined) => (ms ? new Date(ms).toISOString() : null);

/** With what came since the lease was lent; null: it is not. */
export function withLent(
  latest: LatestOfMachine,
  lent: ReturnedOrder | null,
  nowMs: number,
): LatestOfMachine {
  if (!lent) return latest;
  const { upkeep } = lent.baton;
  const report = upkeep.latest && { ...upkeep.latest, vitals: lent.vitals };
  const heardMs = lent.heardAgoMs === null ? upkeep.latestMs : nowMs - lent.heardAgoMs;
  const machineMs = lent.skewMs === null ? undefined : heardMs + lent.skewMs;
  return {
    report: report && {
      ...report,
      ...(machineMs !== undefined && { machineTime: new Date(machineMs).toISOString() }),
    },
    reportMs: heardMs,
    contactMs: heardMs,
    renewedMs: lent.renewedAgoMs === null ? upkeep.tick.renewedAtMs : nowMs - lent.renewedAgoMs,
    statusMs: upkeep.tick.status?.lastStatusReportTimeMs,
  };
}

/** Returns what a kubelet would let pods have; null if no Node or no facts are known. */
function allocatableOf(records: MachineState["records"], { report, reportMs }: LatestOfMachine) {
  const [enrolment, known, stored] = [records.get("enrolment"), records.get("node"), records.get("facts")];
  if (!enrolment || !known || !stored) return null;
  const reported = {
    name: enrolment.name,
    facts: stored.facts,
    vitals: report?.vitals ?? { signals: {} },
    nowMs: reportMs,
    runtimeMemory: records.get("runtime") ?? {},
  };
  return kubeletsAllocatable(reported, known.node);
}

/** null: no machine is enrolled. `alarmMs`: when the object's alarm rings. */
export function shownNode(
  { records, facts, outbox, keys }: MachineState,
  latest: LatestOfMachine,
  alarmMs: number | null,
  deployment: string,
): ShownByObject | null {
  const enrolment = records.get("enrolment");
  if (!enrolment) return null;
  const { name, thumbprint, token, pinnedAtMs, machineID, systemUUID } = enrolment;
  const known = records.get("node");
  const stored = records.get("facts");
  const { report, renewedMs } = latest;
  const statusMs = latest.statusMs ?? known?.lastStatusReportTimeMs;
  const { evictionHard, evictionSoft } = stored?.facts.settings ?? {};
  const events = outbox.standing();
  return {
    name,
    thumbprint,
    phase: lastPhase(records) ?? null,
    isReady: isRegisteredReady(records, known?.node),
    silentSince: at(records.get("silentSinceMs")),
    lastReportAt: at(latest.contactMs),
    runtime: neededRuntime(records),
    conditions: (records.get("decided") ?? []).map(({ type, status, message }) => ({
      type,
      status,
      ...(message !== undefined && { message }),
    })),
    node: known?.node ?? null,
    allocatable: allocatableOf(records, latest),
    facts: stored?.facts ?? null,
    ...(facts.refused && { factsRefused: facts.refused }),
    vitals: report?.vitals ?? null,
    thresholds: { hard: evictionHard ?? effectiveEvictionHard(null, false), soft: evictionSoft ?? {} },
    skewMs: report ? Date.parse(report.machineTime) - latest.reportMs : null,
    isSkewed: records.get("isSkewed") ?? false,
    transport: records.get("transport") ?? "http",
    deadlines: {
      lease: at(renewedMs === undefined ? null : renewedMs + facts.leaseMs()),
      status: at(statusMs ? statusMs + facts.timing().nodeStatusReportFrequencyMs : null),
      alarm: at(alarmMs),
    },
    outbox: {
      waiting: events.waiting,
      oldest: at(events.oldestMs),
      dropped: records.get("eventsDropped") ?? 0,
    },
    key: {
      thumbprint,
      token,
      pinnedAt: new Date(pinnedAtMs).toISOString(),
      next: records.get("nextKey")?.thumbprint ?? null,
      isRefused: keys.enrolled() === null,
    },
    machine: { machineID, systemUUID },
    outageSince: at(records.get("outage")?.sinceMs),
    managers: shownManagers(known?.node, deployment, records.get("registration")),
    events: shownEvents(outbox, records.get("correlator")),
  };
}
