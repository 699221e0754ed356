// Decides what a Node's status should be: runs the setters over a Node, by the machine's last report. Sends nothing.
import { reportedEvents, reportedSetters } from "../../shared/from-report/reported-node.ts";
import { NOTHING_REMEMBERED, type ReportedMemory } from "../../shared/from-report/reported-status.ts";
import { withinGrant } from "../../shared/from-report/within-grant.ts";
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
import { type HeldBack, holdBack, leaveOthers, type OthersParts } from "../../shared/node/parts.ts";
import { type NodeUpdate, updateNode } from "../../shared/node/update-node.ts";
import { type Result, success } from "../../shared/result.ts";
import type { Setter } from "../../shared/setters/setter.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { OccurredEvent } from "../storage/outbox.ts";
import type { TickContext } from "./context.ts";
import {
  grantHolder,
  imagesLeftOut,
  movedLabels,
  recordHeldBack,
  recordLeftOut,
  recordOthers,
  writtenParts,
} from "./parts.ts";

/** What a decision starts from: the last known Node, or the decision before it. */
export interface DecisionBasis {
  /** The Node that was decided about, as the apiserver has it. */
  original: Node;
  /** What the setters remember after it. */
  memory: ReportedMemory;
}

export interface StatusDecision extends DecisionBasis {
  update: NodeUpdate;
  events: readonly OccurredEvent[];
  /** What goes beyond the machine's join token, and was left out. */
  leftOut: readonly string[];
  /** What stays as others have set it. */
  others: OthersParts;
  /** What is written of the parts that somebody may undo, and what is not put back yet. */
  held: HeldBack;
  /** When the setters ran, by a clock that never goes back. */
  nowMs: number;
}

/**
 * The first decision of a tick starts from the last known Node, and from what the setters remember of earlier ticks.
 */
export function firstBasis(
  { memory, records }: TickContext,
  known: Node,
  lastContactMs: number,
): DecisionBasis {
  const setters = memory.setters ?? recalledMemory(records.get("memory"), lastContactMs);
  return { original: known, memory: setters };
}

/** A further decision starts from the one before it, so that it causes no event twice. */
export function decideStatus(context: TickContext, original: Node, before: DecisionBasis): StatusDecision {
  const { records, facts, report, name } = context;
  const memory = structuredClone(before.memory);
  const events: OccurredEvent[] = [];
  const recordEvent = (type: string, reason: string, message: string) =>
    void events.push({ type, reason, message });
  // Times never go back, even where this clock does. The row may be older than the last write, whose time the lease
  // has.
  const writtenMs = Math.max(
    context.memory.heartbeatMs ?? 0,
    context.memory.status?.lastStatusReportTimeMs ?? 0,
  );
  const nowMs = Math.max(context.nowMs(), writtenMs, lastHeartbeatMs(original));
  const runtimeMemory = records.get("runtime") ?? {};
  const reported = { name, facts, vitals: report.vitals, nowMs, memory, runtimeMemory, recordEvent };
  const leftOut: string[] = [];
  const form = formNow(context, original);
  const isMoved = (node: Node) =>
    form === "moved" && isBystander(node, context.enrolment.withoutFactsOnlyTaint);
  const bound: Setter = (node) => {
    leftOut.push(...withinGrant(kubeletsView(original), node, facts, grantHolder(context)));
    leftOut.push(...imagesLeftOut(facts, node.status.images?.length ?? 0));
    if (isMoved(node)) leftOut.push(...movedLabels(facts, context.enrolment.labels ?? {}, leftOut));
    return null;
  };
  const last = afterOthers(context, original);
  const setters = overDecisions(
    [...reportedEvents(reported), ...reportedSetters(reported)],
    before.original,
    records.get("decided") ?? [],
    records.get("node")?.sent,
  );
  const { os, architecture } = facts.platform;
  const update = updateNode(original, (podCIDRs) => isNewPodCIDR(context, podCIDRs), os, architecture, [
    asKubelets,
    ...setters,
    bound,
    ...ownSetters(context, grantHolder(context).fieldManager, form, original),
    last.setter,
  ]);
  return { original, memory, update, events, leftOut, nowMs, ...last.outcome() };
}

/** The last setter: what others have set stays, and what they undo again and again is not put back with every report. */
function afterOthers(context: TickContext, original: Node) {
  let outcome: Pick<StatusDecision, "others" | "held"> = { others: {}, held: { written: {}, wanted: [] } };
  const { fieldManager } = grantHolder(context);
  const lastKnown = context.records.get("node")?.node ?? original;
  const setter: Setter = (node) => {
    const others = leaveOthers(original, node, fieldManager);
    const seen = { original, lastKnown, fieldManager, nowMs: context.nowMs() };
    outcome = { others, held: holdBack(node, writtenParts(context), seen) };
    return null;
  };
  return { setter, outcome: () => outcome };
}

/** Stores the decision; call it before acting on that. */
export function recordDecision(
  context: TickContext,
  { update, memory, events, leftOut, others, held, nowMs }: StatusDecision,
): void {
  context.memory.setters = memory;
  recordLeftOut(context, "status", leftOut);
  recordOthers(
    context,
    others,
    held.wanted.flatMap(({ part, value }) => (value === null ? [] : part)),
  );
  recordHeldBack(context, held);
  // Events take their time from this clock: an event may already be named after the time of the last write.
  const atMs = context.nowMs();
  recordPodCIDR(context, update.node, atMs);
  context.journal.decide({ node: update.node, memory: storedMemory(memory, nowMs), events, nowMs: atMs });
}

/** The last heartbeat that the Node's conditions carry, in milliseconds since 1970; 0: none. */
export function lastHeartbeatMs(node: Node): number {
  const heartbeats = (node.status?.conditions ?? []).map(({ lastHeartbeatTime }) =>
    lastHeartbeatTime ? Date.parse(lastHeartbeatTime) : 0,
  );
  return Math.max(0, ...heartbeats);
}

// Converts what the setters remember between SQLite and the tick, so that a lasting pressure changes no row with every
// report. Decides nothing.

/** Stands in SQLite for the time of the last report. */
const MET_AT_LAST_REPORT = Number.MAX_SAFE_INTEGER;

/** For SQLite. `nowMs` is when the setters ran: a threshold that was met then is stored without its time. */
function storedMemory(memory: ReportedMemory, nowMs: number): ReportedMemory {
  return withMetTimes(memory, (at) => (at === nowMs ? MET_AT_LAST_REPORT : at));
}

/** From SQLite; setters may change the result. `lastContactMs` is the time of the last report. */
function recalledMemory(stored: ReportedMemory | undefined, lastContactMs: number): ReportedMemory {
  return withMetTimes(structuredClone({ ...NOTHING_REMEMBERED, ...stored }), (at) =>
    Math.min(at, lastContactMs),
  );
}

function withMetTimes(memory: ReportedMemory, change: (atMs: number) => number): ReportedMemory {
  const times = Object.entries(memory.eviction.lastMetAt).map(([condition, at]) => [condition, change(at)]);
  return { ...memory, eviction: { ...memory.eviction, lastMetAt: Object.fromEntries(times) } };
}

// Remembers the range of pods that the cluster has given the Node, and writes history when it changes. Nothing here uses
// it: where a CNI plugin or a router of the machine's does, its operator sees when the range was another one.

/** Upstream Kubelet.updatePodCIDR, for a Node that has a range: is it new? Stores nothing. */
function isNewPodCIDR({ records }: Pick<TickContext, "records">, podCIDRs: string): Result<boolean> {
  return success(podCIDRs !== records.get("podCIDRs"));
}

/** Call it with each decision. A Node without a range keeps what is remembered, as a kubelet does. */
function recordPodCIDR(
  { records, journal }: Pick<TickContext, "records" | "journal">,
  { spec }: Node,
  nowMs: number,
): void {
  const podCIDRs = (spec?.podCIDRs ?? []).join(",");
  const before = records.get("podCIDRs");
  if (podCIDRs === "" || podCIDRs === before) return;
  records.put("podCIDRs", podCIDRs);
  journal.note("address", `pod CIDR: ${before === undefined ? "" : `${before} → `}${podCIDRs}`, nowMs);
}

// Decides which labels a machine's Node gets, and when they may change. The fleet index gives each machine its turn, so
// that a new Worker does not write all Nodes at once.

type Context = Pick<TickContext, "deployment" | "enrolment" | "marks" | "nowMs" | "records">;

/** Returns the form of a new Node. */
export function wantedForm({ marks }: Pick<Context, "marks">): NodeForm {
  return marks.keepsTopologyLabels ? "both" : "moved";
}

/** Returns the form that the Node gets with this decision: the one that it has, until the machine's turn. */
export function formNow(context: Context, original: Node): NodeForm {
  const { records, nowMs } = context;
  const change = changeOf(context, original);
  if (change === null) return wantedForm(context);
  const turn = records.get("formTurn");
  return turn && nowMs() >= turn.atMs ? wantedForm(context) : change.from;
}

/** Asks for a turn once if the Node has to change. An index that does not answer is asked with the next report. */
export async function takeTurn(context: Context & Pick<TickContext, "formTurn">): Promise<void> {
  const { records, nowMs } = context;
  const known = records.get("node")?.node;
  const turn = records.get("formTurn");
  const isDue = known !== undefined && changeOf(context, known) !== null;
  if (!isDue && turn) records.remove("formTurn");
  if (!isDue || turn) return;
  const waitMs = await context.formTurn();
  if (waitMs !== null) records.put("formTurn", { atMs: nowMs() + waitMs });
}

/** Returns null if the Node has the wanted form or none, or if it is for pods. */
function changeOf(context: Context, node: Node): { from: NodeForm } | null {
  const { deployment, enrolment } = context;
  if (!isBystander(node, enrolment.withoutFactsOnlyTaint)) return null;
  const from = formOf(node, fieldManagerOf(deployment));
  return from === null || from === wantedForm(context) ? null : { from };
}
