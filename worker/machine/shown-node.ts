// Gathers a machine's Node, events, label and taint writers, and timeline for operators, without asking the apiserver.
import { type EventCorrelator, recordedEvents } from "../../shared/events/correlator.ts";
import {
  decodeSamples,
  joinSamples,
  NO_SAMPLES,
  SAMPLED_SIGNALS,
  type SampledSignal,
  samplesAfter,
} from "../../shared/fleet/samples.ts";
import { asUnknown, type Unready, unreadyOf } from "../../shared/fleet/unready.ts";
import { timelineOf, type TimelineRange } from "../../shared/fleet/timeline.ts";
import { parsedSettings } from "../../shared/from-report/parsed-settings.ts";
import { kubeletsAllocatable } from "../../shared/from-report/reported-node.ts";
import { fieldOwners } from "../../shared/kubernetes/managed-fields.ts";
import { valueOf } from "../../shared/kubernetes/quantity/quantity.ts";
import type { Node, Taint } from "../../shared/kubernetes/types.ts";
import { isSameTaint } from "../../shared/node/initial-node.ts";
import { FACTS_ONLY_TAINT } from "../../shared/node/ownership.ts";
import { type AskedTaints, everAsked, isOfCondition } from "../../shared/node/taints.ts";
import { SHOWN_LIMITS, TIMELINE_LIMITS } from "../../shared/protocol/limits.ts";
import type { ShownEvent, ShownManagers, WholeNode } from "../../shared/protocol/operator-answers.ts";
import type { Report } from "../../shared/protocol/report.ts";
import type { TimelineAnswer } from "../../shared/protocol/timeline.ts";
import { effectiveEvictionHard, type Threshold, thresholdQuantity } from "../../shared/resources/eviction.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { Outbox } from "../storage/outbox.ts";
import type { Samples } from "../storage/samples.ts";
import { isRegisteredReady, lastPhase } from "../tick/phase.ts";
import { neededRuntime } from "./known-facts.ts";
import type { ReturnedLoan } from "./lease-loan.ts";
import type { MachineState } from "./machine-state.ts";

/** The latest data of a machine that an eviction loses. Times are milliseconds since 1970; undefined if unknown. */
export interface LatestOfMachine {
  report: Report | undefined;
  /** The time at which `report` came. */
  reportMs: number;
  /** The time of the last report, including reports that were not applied. */
  contactMs: number | undefined;
  renewedMs: number | undefined;
  statusMs: number | null | undefined;
}

/** The whole view of a machine, without the summary, which the fleet index has. */
export type ShownByObject = Omit<WholeNode, "summary">;

const at = (ms: number | null | undefined) => (ms ? new Date(ms).toISOString() : null);

/** Returns the latest data with the gateway's data from the loan; unchanged if there is no loan. */
export function withLent(latest: LatestOfMachine, lent: ReturnedLoan | null, nowMs: number): LatestOfMachine {
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

/** Returns the allocatable resources that a kubelet would compute; null if no Node or no facts are known. */
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

/** Returns the conditions that the last report decided; each is Unknown if no report of the machine counts. */
function shownConditions(records: MachineState["records"], unready: Unready | null): WholeNode["conditions"] {
  const decided = records.get("decided") ?? [];
  const present = unready ? asUnknown(decided, unready, records.get("state")?.sinceMs ?? 0) : decided;
  return present.map(({ type, status, reason, message, lastTransitionTime }) => ({
    type,
    status,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    ...(lastTransitionTime !== undefined && { since: lastTransitionTime }),
  }));
}

/** Returns the view of a machine; null if no machine is enrolled. `alarmMs`: the time of the object's next alarm. */
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
  const isLeaving = records.get("isLeaving") !== undefined;
  const phase = records.get("notRemoved") ?? lastPhase(records) ?? null;
  const unready = unreadyOf({ isRevoked: enrolment.isRevoked ?? false, isLeaving, phase });
  return {
    name,
    thumbprint,
    phase,
    isReady: unready === null && isRegisteredReady(records, known?.node),
    silentSince: at(records.get("silentSinceMs")),
    lastReportAt: at(latest.contactMs),
    runtime: neededRuntime(records),
    conditions: shownConditions(records, unready),
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

const isoOf = (ms: number) => new Date(ms).toISOString();
/** Returns the time in milliseconds; 0 if the apiserver returned the event without its time. */
const msOf = (time: string) => Date.parse(time) || 0;

/** Returns the waiting events and the events that the correlator remembers, newest first. */
export function shownEvents(outbox: Pick<Outbox, "latest">, sent: EventCorrelator | undefined): ShownEvent[] {
  const waiting = outbox.latest(SHOWN_LIMITS.events).map(({ atMs, ...event }): ShownEvent => {
    const time = isoOf(atMs);
    return { ...event, count: 1, firstAt: time, lastAt: time, state: "waiting" };
  });
  const recorded = sent ? recordedEvents(sent) : [];
  const known = recorded.map(({ firstTimestamp, lastTimestamp, ...event }): ShownEvent => {
    return {
      ...event,
      firstAt: isoOf(msOf(firstTimestamp)),
      lastAt: isoOf(msOf(lastTimestamp)),
      state: "sent",
    };
  });
  const isLater = (a: ShownEvent, b: ShownEvent) => Date.parse(b.lastAt) - Date.parse(a.lastAt);
  return [...waiting, ...known].toSorted(isLater).slice(0, SHOWN_LIMITS.events);
}

/** Returns the writers of labels and taints, from managedFields. `asked`: the taints that machine and token request. */
export function shownManagers(
  node: Node | undefined,
  deployment: string,
  asked: Partial<AskedTaints> | undefined,
): ShownManagers {
  const { metadata, spec } = node ?? {};
  const ours = fieldManagerOf(deployment);
  const ownersOf = (...path: string[]) => fieldOwners(metadata, path);
  const labels = Object.keys(metadata?.labels ?? {}).flatMap((key): [string, string][] => {
    const owners = ownersOf("f:metadata", "f:labels", `f:${key}`);
    // A label whose value another writer has also set belongs to that writer.
    const manager = owners.find((owner) => owner !== ours) ?? owners[0];
    return manager === undefined ? [] : [[key, manager]];
  });
  const own = [...everAsked(asked), FACTS_ONLY_TAINT];
  const [last, ...more] = ownersOf("f:spec", "f:taints");
  const taints = (spec?.taints ?? []).flatMap((taint): [string, string][] => {
    const isOwn = own.some((each) => isSameTaint(each, taint) && (each.value ?? "") === (taint.value ?? ""));
    const manager = isOwn ? ours : more.length === 0 ? managerOf(taint, last) : undefined;
    return manager === undefined ? [] : [[`${taint.key}:${taint.effect}`, manager]];
  });
  return { labels: Object.fromEntries(labels), taints: Object.fromEntries(taints) };
}

/**
 * Returns the writer of a taint that rollcall did not set; undefined if unknown. The apiserver records only the last
 * writer of the whole list. Controllers set the taints of conditions, and other writers set the other taints.
 */
function managerOf(taint: Taint, last: string | undefined): string | undefined {
  const isController = last?.endsWith("controller-manager") ?? false;
  return isController === isOfCondition(taint) ? last : undefined;
}

type Capacities = Record<SampledSignal, number | null>;

const orNull = (amount: number | undefined) =>
  amount === undefined || Number.isNaN(amount) ? null : Math.round(amount);
const bySignal = <T>(of: (signal: SampledSignal, at: number) => T) =>
  Object.fromEntries(SAMPLED_SIGNALS.map((signal, at) => [signal, of(signal, at)])) as Record<
    SampledSignal,
    T
  >;

/** Returns the stored samples together with the gateway's samples from the loan. */
export function withLentSamples(
  samples: Pick<Samples, "read">,
  { baton: { samples: lent }, samples: latest }: ReturnedLoan,
): Pick<Samples, "read"> {
  return {
    read(sinceMs, nowMs) {
      const nowS = Math.floor(nowMs / 1000);
      const packed = lent.packed ? decodeSamples(lent.packed) : NO_SAMPLES;
      return [packed, lent.latest, latest]
        .map((each) => samplesAfter(each, sinceMs))
        .reduce((all, each) => joinSamples(all, each, nowS), samples.read(sinceMs, nowMs));
    },
  };
}

/** Returns the timeline: history as bands and marks, samples, eviction thresholds; null if no machine is enrolled. */
export function shownTimeline(
  {
    records,
    history,
    samples,
    facts,
  }: Pick<MachineState, "records" | "history" | "facts"> & { samples: Pick<Samples, "read"> },
  range: TimelineRange,
  nowMs: number,
): TimelineAnswer | null {
  const enrolment = records.get("enrolment");
  if (!enrolment) return null;
  const { sinceMs, untilMs } = range;
  const { lines, isCut, oldestMs } = history.around(range);
  const { bands, marks } = timelineOf(lines, range, enrolment.pinnedAtMs);
  const shown = bands.slice(-TIMELINE_LIMITS.bands);
  const known = samples.read(enrolment.pinnedAtMs, nowMs);
  const inRange = known.samples.filter(({ atS }) => atS * 1000 >= sinceMs && atS * 1000 <= untilMs);
  const capacity = bySignal((_, at) => orNull(known.capacity?.[at]));
  const signals = SAMPLED_SIGNALS.filter((name) => capacity[name] !== null);
  const valuesOf = (name: SampledSignal) =>
    inRange.map(({ available }) => orNull(available[SAMPLED_SIGNALS.indexOf(name)]));
  const settings = facts.current()?.settings;
  return {
    since: isoOf(sinceMs),
    until: isoOf(untilMs),
    knownSince: isoOf(oldestMs ?? enrolment.pinnedAtMs),
    isCut: isCut || shown.length < bands.length,
    bands: shown.map(({ fromMs, toMs, ...band }) => ({ ...band, from: isoOf(fromMs), to: isoOf(toMs) })),
    marks: marks.map(({ atMs, ...mark }) => ({ ...mark, at: isoOf(atMs) })),
    samples: {
      signals,
      at: inRange.map(({ atS }) => atS * 1000),
      values: Object.fromEntries(signals.map((name) => [name, valuesOf(name)])),
    },
    thresholds: thresholdsBy(settings ? parsedSettings(settings).thresholds : [], capacity),
    capacity,
  };
}

function thresholdsBy(thresholds: readonly Threshold[], capacity: Capacities): TimelineAnswer["thresholds"] {
  const amountOf = (name: SampledSignal, isHard: boolean): number | null => {
    const found = thresholds.find(
      ({ signal, gracePeriodMs }) => signal === name && (gracePeriodMs === 0) === isHard,
    );
    const whole = capacity[name];
    if (!found || (found.value.percentage !== null && whole === null)) return null;
    return Number(valueOf(thresholdQuantity(found.value, whole ?? 0)));
  };
  return bySignal((name) => ({ hard: amountOf(name, true), soft: amountOf(name, false) }));
}
