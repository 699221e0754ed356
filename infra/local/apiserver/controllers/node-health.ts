// Decides whether a Node still reports, and its conditions if not. Mirrors nodelifecycle's tryUpdateNodeHealth.
import type { NodeCondition } from "../../../../shared/kubernetes/types.ts";
import { timeOf } from "../write/write.ts";
import { conditionOfType, type NodeView } from "./node-view.ts";

export interface HealthSettings {
  /** Milliseconds without a report until a Node becomes Unknown (--node-monitor-grace-period). */
  monitorGracePeriodMs: number;
  /** Milliseconds until a Node without a Ready condition becomes Unknown (--node-startup-grace-period). */
  startupGracePeriodMs: number;
}

/** The state of a Node that one check keeps for the next. */
export interface NodeHealth {
  /** The time when the controller last saw a change of the Node, in milliseconds since 1970, by its own clock. */
  probeMs: number;
  /** The lastHeartbeatTime of the Ready condition. undefined if the Node has no such condition. */
  heartbeat: string | undefined;
  /** The renewTime of the Node's lease. undefined before the first read of the lease. */
  renewTime: string | undefined;
}

export interface HealthDecision {
  health: NodeHealth;
  /** The status of Ready that the Node reported, or Unknown if it has no such condition. */
  observedReady: string;
  /** The Ready condition after the check. undefined for a new Node without that condition. */
  ready: NodeCondition | undefined;
  /** The conditions to write. undefined if they do not change. */
  conditions: NodeCondition[] | undefined;
}

/** The conditions that become Unknown. NetworkUnavailable is not listed, because network plugins write it. */
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

/** Returns a silent Node's conditions: the existing conditions in their order, then new ones. */
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

/** Returns the Node's state after a comparison of its status with the last check. The lease is compared afterwards. */
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
  // Without a Ready condition the statuses cannot be compared, so the grace period continues.
  if (!ready) return { ...known, heartbeat };
  return known.heartbeat === heartbeat ? known : now;
}

/** Checks a Node. `renewTime` is the renewTime of the Node's lease. */
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
