// What was decided about a Node's conditions, kept apart from what the apiserver has: an apiserver that is down must
// neither lose a transition nor have it decided again with every report.
import type { Node, NodeCondition } from "../kubernetes/types.ts";
import type { Setter } from "../setters/setter.ts";

/** A condition without its heartbeat, which changes with every report. */
export type DecidedCondition = Omit<NodeCondition, "lastHeartbeatTime">;

/** The conditions as they were decided last. */
export function decidedConditions(node: Node): DecidedCondition[] {
  return (node.status?.conditions ?? []).map(({ lastHeartbeatTime: _heartbeat, ...condition }) => condition);
}

/**
 * `setters`, over decisions that are not yet written: where the apiserver has what was last known, or `sent` without an
 * answer, but something else was decided since, they start from the decision. A condition that someone else has changed
 * stays as it is.
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
      if (decision.status === status) return false;
      return (
        status === statusOf(lastKnown?.status?.conditions ?? [], decision.type) ||
        sent.some((condition) => condition.type === decision.type && condition.status === status)
      );
    });
    if (pending.length === 0) return null;
    const kept = conditions.map(
      (condition) => pending.find(({ type }) => type === condition.type) ?? condition,
    );
    added = pending.filter(({ type }) => statusOf(conditions, type) === undefined);
    node.status.conditions = [...kept, ...added];
    return null;
  };
  /** A condition that was never written, and of which no setter has spoken again, is nobody's any more. */
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
