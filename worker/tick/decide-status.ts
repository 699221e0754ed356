// Decides what a Node's status should be: runs the setters over a Node, by the machine's last report. Sends nothing.
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";
import { reportedEvents, reportedSetters } from "../../shared/from-report/reported-node.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { overDecisions } from "../../shared/node/decided.ts";
import { type NodeUpdate, updateNode } from "../../shared/node/update-node.ts";
import type { OccurredEvent } from "../storage/outbox.ts";
import type { Setter } from "../../shared/setters/setter.ts";
import { leaveOthers, type OthersParts } from "../../shared/node/leave-others.ts";
import { type HeldBack, holdBack } from "../../shared/node/put-back.ts";
import { withinGrant } from "../../shared/from-report/within-grant.ts";
import { asKubelets, isBystander, kubeletsView } from "../../shared/node/bystander.ts";
import { grantHolder, imagesLeftOut, movedLabels, recordLeftOut } from "./left-out.ts";
import type { TickContext } from "./context.ts";
import { isNewPodCIDR, recordPodCIDR } from "./pod-cidr.ts";
import { recordHeldBack, recordOthers, writtenParts } from "./part-conflicts.ts";
import { formNow } from "./node-form.ts";
import { ownSetters } from "./own-setters.ts";
import { recalledMemory, storedMemory } from "./setter-memory.ts";

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
