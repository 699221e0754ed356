// Keeps a Node's decided conditions, so that each transition is decided once while the apiserver is unreachable.
import type { Node, NodeCondition } from "../kubernetes/types.ts";
import type { Setter } from "../setters/setter.ts";

/** A decided condition, without its heartbeat time, which changes with every report. */
export type DecidedCondition = Omit<NodeCondition, "lastHeartbeatTime">;

export function decidedConditions(node: Node): DecidedCondition[] {
  return (node.status?.conditions ?? []).map(({ lastHeartbeatTime: _heartbeat, ...condition }) => condition);
}

/**
 * Returns setters that start from the decisions that are not written yet. A decision replaces a condition that
 * still has its last known status, or the status in `sent` (a patch that got no answer). A condition that has changed
 * after the decision stays.
 */
export function overDecisions(
  setters: readonly Setter[],
  lastKnown: Node | undefined,
  decided: readonly DecidedCondition[],
  sent: readonly DecidedCondition[] = [],
): Setter[] {
  let added: readonly DecidedCondition[] = [];
  const start: Setter = (node) => {
    const conditions = node.status.conditions ?? [];
    const pending = decided.filter((decision) => {
      const status = statusOf(conditions, decision.type);
      const sentStatus = statusOf(sent, decision.type);
      // The decision has changed back. The apiserver may have stored the status in between, so the later time counts.
      if (decision.status === status) return sentStatus !== undefined && sentStatus !== status;
      if (sinceMs(conditions, decision.type) > sinceMs(decided, decision.type)) return false;
      return status === statusOf(lastKnown?.status?.conditions ?? [], decision.type) || status === sentStatus;
    });
    if (pending.length === 0) return null;
    const kept = conditions.map(
      (condition) => pending.find(({ type }) => type === condition.type) ?? condition,
    );
    added = pending.filter(({ type }) => statusOf(conditions, type) === undefined);
    node.status.conditions = [...kept, ...added];
    return null;
  };
  /** Removes the conditions that `start` added and that no setter has replaced. */
  const end: Setter = (node) => {
    if (added.length > 0)
      node.status.conditions = (node.status.conditions ?? []).filter((one) => !added.includes(one));
    return null;
  };
  return [start, ...setters, end];
}

function statusOf(conditions: readonly DecidedCondition[], type: string): string | undefined {
  return conditions.find((condition) => condition.type === type)?.status;
}

function sinceMs(conditions: readonly DecidedCondition[], type: string): number {
  return Date.parse(conditions.find((condition) => condition.type === type)?.lastTransitionTime ?? "") || 0;
}
