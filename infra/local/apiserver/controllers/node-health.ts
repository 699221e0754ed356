// Decides whether a Node still reports, and its conditions if it does not. Mirrors nodelifecycle's tryUpdateNodeHealth.
import type { NodeCondition } from "../../../../shared/kubernetes/types.ts";
import { timeOf } from "../write/write.ts";
import { conditionOfType, type NodeView } from "./node-view.ts";

export interface HealthSettings {
  /** --node-monitor-grace-period: the time without a report until a Node is Unknown. */
  monitorGracePeriodMs: number;
  /** --node-startup-grace-period: the same for a Node without a Ready condition. */
  startupGracePeriodMs: number;
}

/** The values that are kept from one check of a Node to the next. */
export interface NodeHealth {
  /** The time of the last report by this clock. */
  probeMs: number;
  /** lastHeartbeatTime of the Ready condition; undefined without that condition. */
  heartbeat: string | undefined;
  /** renewTime of the Node's lease; undefined before the lease was read. */
  renewTime: string | undefined;
}

export interface HealthDecision {
  health: NodeHealth;
  /** The status of Ready that the Node reported; Unknown without that condition. */
  observedReady: string;
  /** The Ready condition after the check; undefined for a new Node without one. */
  ready: NodeCondition | undefined;
  /** The conditions to write; undefined if they do not change. */
  conditions: NodeCondition[] | undefined;
}

/** NetworkUnavailable is not among them: network plugins write it. */
const silencedTypes = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

function unknownCondition(known: NodeCondition | undefined, type: string, node: NodeView, nowMs: number) {
  const status = "Unknown";
  const lastTransitionTime = timeOf(new Date(nowMs));
  if (!known) {
    return {
      type,
      status,
      reason: "NodeStatusNeverUpdated",
      message: "Kubelet never posted node status.",
      lastHeartbeatTime: node.creationTimestamp,
      lastTransitionTime,
    };
  }
  if (known.status === status) return known;
  const message = "Kubelet stopped posting node status.";
  return { ...known, status, reason: "NodeStatusUnknown", message, lastTransitionTime };
}

/** The conditions of a Node whose grace period is over. They keep their order, and new ones follow. */
function silencedConditions(node: NodeView, nowMs: number): NodeCondition[] {
  const silenced = new Map(
    silencedTypes.map((type) => [
      type,
      unknownCondition(conditionOfType(node.conditions, type), type, node, nowMs),
    ]),
  );
  const kept = node.conditions.map((condition) => silenced.get(condition.type) ?? condition);
  const present = new Set(node.conditions.map(({ type }) => type));
  return [...kept, ...[...silenced.values()].filter(({ type }) => !present.has(type))];
}

/** Compares the Node's status with the last check. The lease is compared after that. */
function healthFromStatus(
  node: NodeView,
  ready: NodeCondition | undefined,
  known: NodeHealth | undefined,
  nowMs: number,
): NodeHealth {
  const heartbeat = ready?.lastHeartbeatTime;
  const now = { probeMs: nowMs, heartbeat, renewTime: undefined };
  if (!known)
    return ready ? now : { probeMs: Date.parse(node.creationTimestamp), heartbeat, renewTime: undefined };
  // Without a Ready condition there is nothing to compare: the grace period continues.
  if (!ready) return { ...known, heartbeat };
  return known.heartbeat === heartbeat ? known : now;
}

/** Checks a Node. `renewTime` is that of its lease. */
export function judgeHealth(
  node: NodeView,
  renewTime: string | undefined,
  known: NodeHealth | undefined,
  nowMs: number, // milliseconds since 1970
  settings: HealthSettings,
): HealthDecision {
  const ready = conditionOfType(node.conditions, "Ready");
  const gracePeriodMs = ready ? settings.monitorGracePeriodMs : settings.startupGracePeriodMs;
  const fromStatus = healthFromStatus(node, ready, known, nowMs);
  const isRenewed =
    renewTime !== undefined && (fromStatus.renewTime === undefined || fromStatus.renewTime < renewTime);
  const health = isRenewed ? { ...fromStatus, renewTime, probeMs: nowMs } : fromStatus;
  const observedReady = ready?.status ?? "Unknown";
  if (nowMs <= health.probeMs + gracePeriodMs) return { health, observedReady, ready, conditions: undefined };
  const conditions = silencedConditions(node, nowMs);
  const silenced = conditionOfType(conditions, "Ready");
  const isNew = ready?.status !== "Unknown";
  return {
    health: { ...health, heartbeat: silenced?.lastHeartbeatTime },
    observedReady,
    ready: silenced,
    conditions: isNew ? conditions : undefined,
  };
}
