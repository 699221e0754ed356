// Decides the status of a Node: runs the setters over the Node, with the machine's last report as their source.
import { reportedEvents, reportedSetters } from "../../shared/from-report/reported-node.ts";
import { writtenMinor } from "../../shared/from-report/kubelet-version.ts";
import {
  NOTHING_REMEMBERED,
  type ReportedMemory,
  type ReportedStatus,
} from "../../shared/from-report/reported-status.ts";
import { type GrantHolder, mayReport, withinGrant } from "../../shared/from-report/within-grant.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import {
  asKubelets,
  formOf,
  isBystander,
  kubeletsView,
  type NodeForm,
  ownSetters,
} from "../../shared/node/bystander.ts";
import { overDecisions } from "../../shared/node/decided.ts";
import { maintained } from "../../shared/node/maintenance.ts";
import type { NodeMarks } from "../../shared/node/own-labels.ts";
import {
  type HeldBack,
  holdBack,
  leaveOthers,
  type OthersParts,
  type WrittenParts,
} from "../../shared/node/parts.ts";
import { type NodeUpdate, updateNode } from "../../shared/node/update-node.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { success } from "../../shared/result.ts";
import { problemEvents } from "../../shared/setters/problem-events.ts";
import type { Setter } from "../../shared/setters/setter.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { Stored } from "../storage/journal.ts";
import type { OccurredEvent } from "../storage/outbox.ts";
import type { Enrolment, NodeRecordStore } from "../storage/records.ts";
import { maintenanceFor } from "./maintenance.ts";
import type { TickMemory } from "./memory.ts";
import {
  grantHolder,
  imagesLeftOut,
  movedLabels,
  recordHeldBack,
  recordLeftOut,
  recordOthers,
  ruledParts,
} from "./parts.ts";

/** The data that decides which labels a machine's Node has. */
export interface FormingMachine {
  deployment: string;
  enrolment: Enrolment;
  marks: NodeMarks;
  records: NodeRecordStore;
  nowMs: () => number;
}

export interface DecidingMachine extends FormingMachine {
  name: string;
  facts: Facts;
  report: Pick<Report, "vitals">;
  /** Present if another writer's change causes the decision: the machine may have stopped since its last report. */
  isBetweenReports?: true;
  /** The cluster's minor version for the Node; absent if the Node keeps the version that it has. */
  newMinor?: number | undefined;
}

/** The starting point of a decision: the last known Node, or the result of the previous decision. */
export interface DecisionBasis {
  /** The Node that the decision was about, as the apiserver has it. */
  original: Node;
  /** The memory of the setters after the decision. */
  memory: ReportedMemory;
}

export interface StatusDecision extends DecisionBasis {
  update: NodeUpdate;
  events: readonly OccurredEvent[];
  /** The parts that the machine's join token does not grant, and that the decision left out. */
  leftOut: readonly string[];
  /** The parts that keep the value of another writer. */
  others: OthersParts;
  /** The parts that were written before this decision, with their values. */
  writtenBefore: WrittenParts;
  /** The writes of parts that other writers may undo, and the parts that must wait before they are put back. */
  held: HeldBack;
  /** The time at which the setters ran, by a clock that never goes back. */
  nowMs: number;
}

/** Returns the start of a tick's first decision: the last known Node, and the setters' memory. */
export function firstBasis(
  records: NodeRecordStore,
  setters: ReportedMemory | undefined, // the memory of the setters; undefined after an eviction
  known: Node,
  lastContactMs: number,
): DecisionBasis {
  return { original: known, memory: setters ?? recalledMemory(records.get("memory"), lastContactMs) };
}

/** Decides a status. Starts from the previous decision, so that no event is caused twice. */
export function decideStatus(
  machine: DecidingMachine,
  remembered: Pick<TickMemory, "heartbeatMs" | "status" | "written">,
  original: Node,
  before: DecisionBasis,
): StatusDecision {
  const { records, facts, report, name, enrolment } = machine;
  const memory = structuredClone(before.memory);
  const events: OccurredEvent[] = [];
  const recordEvent = (type: string, reason: string, message: string) =>
    void events.push({ type, reason, message });
  // The status's times never go back, even if this clock does. Unlike the lease, the stored row may be outdated.
  const { heartbeatMs = 0, status } = remembered;
  const writtenMs = Math.max(heartbeatMs, status?.lastStatusReportTimeMs ?? 0);
  const nowMs = Math.max(machine.nowMs(), writtenMs, lastHeartbeatMs(original));
  const clusterMinor = machine.newMinor ?? writtenMinor(original);
  const known = { name, facts, nowMs, clusterMinor, runtimeMemory: records.get("runtime") ?? {} };
  const reported = { ...known, vitals: report.vitals, memory, recordEvent };
  const leftOut: string[] = [];
  const form = formNow(machine, original);
  const holder = grantHolder(machine);
  const ruled = ruledParts(machine);
  const bound: Setter = (node) => {
    leftOut.push(...withinGrant(kubeletsView(original), node, facts, holder), ...ruled.leftOut);
    leftOut.push(...imagesLeftOut(facts, node.status.images?.length ?? 0));
    if (form === "moved" && isBystander(node, enrolment.withoutFactsOnlyTaint))
      leftOut.push(...movedLabels(facts, enrolment.labels ?? {}, leftOut));
    return null;
  };
  const writtenBefore = remembered.written ?? records.get("putBack") ?? {};
  let others: OthersParts = {};
  let held: HeldBack = { written: {}, wanted: [] };
  /** Keeps the values of other writers, and drops this decision's values that other writers undo with every report. */
  const leave: Setter = (node) => {
    others = leaveOthers(original, node, holder.fieldManager);
    const lastKnown = records.get("node")?.node ?? original;
    const seen = { original, lastKnown, fieldManager: holder.fieldManager, nowMs: machine.nowMs() };
    held = holdBack(node, writtenBefore, seen);
    return null;
  };
  const setters = overDecisions(
    [...reportedEvents(reported), detectedEvents(reported, holder, leftOut), ...reportedSetters(reported)],
    before.original,
    records.get("decided") ?? [],
    records.get("node")?.sent,
  );
  const { os, architecture } = facts.platform;
  // Mirrors upstream's Kubelet.updatePodCIDR.
  const isNewPodCIDR = (podCIDRs: string) => success(podCIDRs !== records.get("podCIDRs"));
  const update = updateNode(original, isNewPodCIDR, os, architecture, [
    asKubelets,
    ...setters,
    bound,
    maintained(maintenanceFor(records, original)),
    ...ownSetters(machine, holder.fieldManager, form, ruled.parts, original),
    leave,
    ...(machine.isBetweenReports ? [keepHeartbeats(original)] : []),
  ]);
  return { original, memory, update, events, leftOut, nowMs, others, writtenBefore, held };
}

/** Returns a setter that records the events of problem detectors, as far as the grant allows their names. */
function detectedEvents(
  { facts, memory, recordEvent }: Pick<ReportedStatus, "facts" | "memory" | "recordEvent">,
  { grant }: Pick<GrantHolder, "grant">,
  leftOut: string[],
): Setter {
  const mayRecord = (name: string) => mayReport(grant, name);
  return problemEvents(memory.problems, facts.problems, mayRecord, recordEvent, (part) => {
    if (!leftOut.includes(part)) leftOut.push(part);
  });
}

/** Returns a setter that keeps the times of the last heartbeats, because only a report is a heartbeat. */
function keepHeartbeats({ status }: Node): Setter {
  const known = new Map(status?.conditions?.map(({ type, lastHeartbeatTime }) => [type, lastHeartbeatTime]));
  return (node) => {
    const { conditions = [] } = node.status;
    node.status.conditions = conditions.map((condition) => {
      const lastHeartbeatTime = known.get(condition.type);
      return lastHeartbeatTime === undefined ? condition : { ...condition, lastHeartbeatTime };
    });
    return null;
  };
}

/** Stores the decision and returns the memory for the next decision. Call it before acting on the decision. */
export function recordDecision(
  machine: Stored & { nowMs: () => number },
  { update, memory, events, leftOut, others, writtenBefore, held, nowMs }: StatusDecision,
): Pick<TickMemory, "setters" | "written"> {
  recordLeftOut(machine, "status", leftOut);
  const put = held.wanted.flatMap(({ part, value }) => (value === null ? [] : part));
  recordOthers(machine, others, put);
  recordHeldBack(machine, writtenBefore, held);
  // Events take their time from this clock: an earlier event's name may already contain a time after the last write.
  const atMs = machine.nowMs();
  recordPodCIDR(machine, update.node, atMs);
  machine.journal.decide({ node: update.node, memory: storedMemory(memory, nowMs), events, nowMs: atMs });
  return { setters: memory, written: held.written };
}

/** Returns the latest heartbeat of the Node's conditions, in milliseconds since 1970; 0 if there is none. */
export function lastHeartbeatMs(node: Node): number {
  const heartbeats = (node.status?.conditions ?? []).map(({ lastHeartbeatTime }) =>
    lastHeartbeatTime ? Date.parse(lastHeartbeatTime) : 0,
  );
  return Math.max(0, ...heartbeats);
}

/** Replaces the last report's time in SQLite, so that a lasting pressure does not change the row with every report. */
const MET_AT_LAST_REPORT = Number.MAX_SAFE_INTEGER;

/** Returns the setters' memory for SQLite. A threshold that was met at `nowMs` is stored without its time. */
function storedMemory(memory: ReportedMemory, nowMs: number): ReportedMemory {
  return withMetTimes(memory, (at) => (at === nowMs ? MET_AT_LAST_REPORT : at));
}

/** Returns a copy of SQLite's setters' memory, which setters may change. `lastContactMs`: the last report's time. */
function recalledMemory(stored: ReportedMemory | undefined, lastContactMs: number): ReportedMemory {
  return withMetTimes(structuredClone({ ...NOTHING_REMEMBERED, ...stored }), (at) =>
    Math.min(at, lastContactMs),
  );
}

function withMetTimes(memory: ReportedMemory, change: (atMs: number) => number): ReportedMemory {
  const times = Object.entries(memory.eviction.lastMetAt).map(([condition, at]) => [condition, change(at)]);
  return { ...memory, eviction: { ...memory.eviction, lastMetAt: Object.fromEntries(times) } };
}

/**
 * Records the pod CIDR that the cluster has given the Node. Each change is a line of history, because the machine's CNI
 * plugin or a router may use the range. If the Node has no range, the record keeps the last range, as a kubelet does.
 */
function recordPodCIDR({ records, journal }: Stored, { spec }: Node, nowMs: number): void {
  const podCIDRs = (spec?.podCIDRs ?? []).join(",");
  const before = records.get("podCIDRs");
  if (podCIDRs === "" || podCIDRs === before) return;
  records.put("podCIDRs", podCIDRs);
  journal.note("address", `pod CIDR: ${before === undefined ? "" : `${before} → `}${podCIDRs}`, nowMs);
}

/** Returns the form of a new Node's labels. */
export function wantedForm(marks: NodeMarks): NodeForm {
  return marks.keepsTopologyLabels ? "both" : "moved";
}

/** Returns the form that the Node's labels get with this decision: the present form until the machine's turn. */
export function formNow(machine: FormingMachine, original: Node): NodeForm {
  const { marks, records, nowMs } = machine;
  const from = outdatedForm(machine, original);
  const turn = records.get("formTurn");
  return from === null || (turn && nowMs() >= turn.atMs) ? wantedForm(marks) : from;
}

/**
 * Asks the fleet index once for a turn if the Node's form must change, so that a new Worker does not write all
 * Nodes at the same time. If the fleet index does not answer, the next report asks again.
 */
export async function takeTurn(
  machine: FormingMachine,
  formTurn: () => Promise<number | null>, // returns the milliseconds until the turn; null without an answer
): Promise<void> {
  const { records, nowMs } = machine;
  const known = records.get("node")?.node;
  const turn = records.get("formTurn");
  const isDue = known !== undefined && outdatedForm(machine, known) !== null;
  if (!isDue && turn) records.remove("formTurn");
  if (!isDue || turn) return;
  const waitMs = await formTurn();
  if (waitMs !== null) records.put("formTurn", { atMs: nowMs() + waitMs });
}

/** Returns the Node's present form if that form must change; null if the Node has the wanted form, or is for pods. */
function outdatedForm({ deployment, enrolment, marks }: FormingMachine, node: Node): NodeForm | null {
  if (!isBystander(node, enrolment.withoutFactsOnlyTaint)) return null;
  const form = formOf(node, fieldManagerOf(deployment));
  return form === wantedForm(marks) ? null : form;
}
