// Keeps what was decided about a Node's conditions apart from what the apiserver has. While an apiserver is down, no
// transition may be lost, and none may be decided again with every report.
import type { Node, NodeCondition } from "../kubernetes/types.ts";
import type { Setter } from "../setters/setter.ts";

/** A condition without its heartbeat, which changes with every report. */
export type DecidedCondition = Omit<NodeCondition, "lastHeartbeatTime">;

export function decidedConditions(node: Node): DecidedCondition[] {
  return (node.status?.conditions ?? []).map(({ lastHeartbeatTime: _heartbeat, ...condition }) => condition);
}

/**
 * Makes `setters` start from the decisions that are not written yet: where the apiserver still has the last known
 * status of a condition, or that of `sent` (a patch that got no answer), the decision takes its place. A condition
 * that someone else has changed stays as it is.
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
      // Since then it has changed and changed back: the apiserver may have what came between, and so the later time counts.
      if (decision.status === status) return sentStatus !== undefined && sentStatus !== status;
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
  /** Removes a condition that was added here and that no setter has set again: nobody decides about it any more. */
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
