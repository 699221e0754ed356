// Sets a condition of a Node, before Ready. Only rollcall's own setters use this file, not the kubelet's.
import type { NodeCondition, NodeStatus } from "./types.ts";

/** A condition without its times. */
export interface ConditionReport {
  type: string;
  status: "True" | "False" | "Unknown";
  /** The reason in CamelCase, for programs. */
  reason: string;
  /** The message, for people. */
  message: string;
}

/**
 * Sets a condition and keeps it before Ready, which some clients expect to be the last one
 * (kubernetes/kubernetes#16961). The transition time changes only with the status. Returns true if an existing
 * condition has changed its status.
 */
export function setCondition(status: NodeStatus, now: string, report: ConditionReport): boolean {
  const conditions = status.conditions ?? [];
  const index = conditions.findIndex(({ type }) => type === report.type);
  const previous = conditions[index];
  const changed = previous !== undefined && previous.status !== report.status;
  const condition: NodeCondition = { ...report, lastHeartbeatTime: now, lastTransitionTime: now };
  if (previous && !changed && previous.lastTransitionTime) {
    condition.lastTransitionTime = previous.lastTransitionTime;
  }
  const ready = conditions.findIndex(({ type }) => type === "Ready");
  if (previous && (ready === -1 || index <= ready)) status.conditions = conditions.with(index, condition);
  else {
    const others = conditions.filter(({ type }) => type !== report.type);
    status.conditions = others.toSpliced(ready === -1 ? others.length : ready, 0, condition);
  }
  return changed;
}
