// Decides the conditions of a Node's maintenance, which an operator orders, and when it ends by itself (KEP-5683).
import { type ConditionReport, setCondition } from "../kubernetes/conditions.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { MAINTENANCE_IN_PROGRESS, MAINTENANCE_PLANNED } from "../kubernetes/lifecycle-conditions.ts";
import type { Node } from "../kubernetes/types.ts";
import { MAINTENANCE_LIMITS } from "../protocol/limits.ts";
import { FACT_CONDITIONS_ANNOTATION } from "../setters/fact-conditions.ts";
import { listedIn } from "../setters/listed.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import type { DecidedCondition } from "./decided.ts";

export interface MaintenanceOrder {
  stage: "plan" | "begin" | "end";
  /** When the plan or the maintenance ends by itself, in milliseconds since 1970; null for the stage `end`. */
  untilMs: number | null;
  /** The operator; null if the maintenance ends by itself. */
  who: string | null;
  comment: string;
}

interface MaintenanceCondition extends ConditionReport {
  lastTransitionTime: string;
}

export interface Maintenance {
  conditions: MaintenanceCondition[];
  /** When the maintenance ends by itself, in milliseconds since 1970; null if it has ended. */
  untilMs: number | null;
  /** true once the Node has shown the conditions. A change of another writer then ends the order. */
  isWritten?: true;
}

/** The conditions of an order. */
const ORDERED: readonly string[] = [MAINTENANCE_PLANNED, MAINTENANCE_IN_PROGRESS];
/** The condition that each stage sets to True. */
const OF_STAGE = { plan: MAINTENANCE_PLANNED, begin: MAINTENANCE_IN_PROGRESS, end: null } as const;

/** Returns the order by which a maintenance ends by itself. */
export const ITS_END: MaintenanceOrder = { stage: "end", untilMs: null, who: null, comment: "" };

/**
 * Returns the maintenance after an order. `known`: the machine's conditions. A condition that is absent or False stays
 * so unless the order sets it. The reasons are the KEP's: MaintenanceWindow after a plan, and if the time is over.
 */
export function maintenanceAfter(
  known: readonly DecidedCondition[],
  order: MaintenanceOrder,
  nowMs: number,
): Maintenance {
  const { stage, untilMs, who } = order;
  const knownOf = (type: string) => known.find((each) => each.type === type);
  const isPlanned = stage === "begin" && knownOf(MAINTENANCE_PLANNED)?.status === "True";
  const reason = isPlanned || who === null ? "MaintenanceWindow" : "AdminRequested";
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const conditions = ORDERED.flatMap((type): MaintenanceCondition[] => {
    const before = knownOf(type);
    const status = type === OF_STAGE[stage] ? "True" : "False";
    // A condition that is False already says how it ended.
    if (status === "False" && (before?.status ?? "False") === "False") return [];
    const sameSince = before?.status === status ? before.lastTransitionTime : undefined;
    return [{ type, status, reason, message: messageOf(order), lastTransitionTime: sameSince ?? now }];
  });
  return { conditions, untilMs };
}

/** Returns a text like `until 2026-01-31T12:00:00Z, by alice: new disk`. */
function messageOf({ untilMs, who, comment }: MaintenanceOrder): string {
  const when = untilMs === null ? "ended" : `until ${new Date(untilMs).toISOString().slice(0, 19)}Z,`;
  return `${when} by ${who ?? "its time"}${comment && `: ${comment}`}`;
}

/** The latest time to which an order made now may extend, in milliseconds from now. */
const LONGEST_MS = MAINTENANCE_LIMITS.days * 24 * 3600 * 1000;

/**
 * Returns the order whose condition and message the Node has; undefined without one that an operator may have given. A
 * machine whose object was lost gets its order back from its Node. A drop-in's condition is no order: the machine could
 * otherwise keep it after its token's grant has ended.
 */
export function statedMaintenance(
  node: Node,
  nowMs: number,
): (Maintenance & { untilMs: number }) | undefined {
  const ofDropIns = new Set(listedIn(node, FACT_CONDITIONS_ANNOTATION));
  for (const { type, status: is, reason, message, lastTransitionTime } of node.status?.conditions ?? []) {
    const untilMs = Date.parse(/^until (\S+Z), by /.exec(message ?? "")?.[1] ?? "");
    const isOfOrder = is === "True" && ORDERED.includes(type) && !ofDropIns.has(type);
    if (!isOfOrder || !(untilMs <= nowMs + LONGEST_MS) || !reason || !message || !lastTransitionTime)
      continue;
    return {
      conditions: [{ type, status: is, reason, message, lastTransitionTime }],
      untilMs,
      isWritten: true,
    };
  }
  return undefined;
}

/** Returns the conditions of the maintenance that the Node does not have yet. */
export function missingConditions(
  maintenance: Maintenance | undefined,
  { status }: Node,
): MaintenanceCondition[] {
  const isThere = (wanted: MaintenanceCondition) =>
    status?.conditions?.some(
      ({ type, status: is, message }) =>
        type === wanted.type && is === wanted.status && (message ?? "") === wanted.message,
    );
  return (maintenance?.conditions ?? []).filter((wanted) => !isThere(wanted));
}

/** Returns the setter of the maintenance's conditions. */
export function maintained(maintenance: Maintenance | undefined): Setter {
  return (node: DraftNode) => {
    for (const { lastTransitionTime, ...wanted } of missingConditions(maintenance, node))
      setCondition(node.status, lastTransitionTime, wanted);
    return null;
  };
}

/** The new fields of a condition. */
export type ConditionChange = JsonObject & { type: string };

/** Returns the patch of the Node's status that sets these conditions. Ready stays the last condition. */
export function conditionsPatch(node: Node, conditions: ConditionChange[]): JsonObject {
  const known = (node.status?.conditions ?? []).map(({ type }) => type);
  const added = conditions.map(({ type }) => type).filter((type) => !known.includes(type));
  if (added.length === 0) return { status: { conditions } };
  const others = [...known, ...added].filter((type) => type !== "Ready");
  const order = [...others, "Ready"].map((type) => ({ type }));
  return { status: { "$setElementOrder/conditions": order, conditions } };
}
