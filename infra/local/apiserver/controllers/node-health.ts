// Whether a Node still reports: what is known of it → its conditions. Mirrors nodelifecycle's tryUpdateNodeHealth.
// Writes nothing and has no clock.
import type { NodeCondition } from "../../../../shared/kubernetes/types.ts";
import { timeOf } from "../write/write.ts";
import { conditionOfType, type NodeView } from "./node-view.ts";

export interface HealthSettings {
  /** --node-monitor-grace-period: how long a Node may be silent. */
  monitorGracePeriodMs: number;
  /** --node-startup-grace-period: the same for one that has no Ready condition yet. */
  startupGracePeriodMs: number;
}

/** What is remembered of a Node between two looks at it. */
export interface NodeHealth {
  /** When it last reported, by our clock. */
  probeMs: number;
  /** Its Ready condition's lastHeartbeatTime; undefined when it had no such condition. */
  heartbeat: string | undefined;
  /** Its lease's renewTime, once that was seen. */
  renewTime: string | undefined;
}

export interface HealthDecision {
  health: NodeHealth;
  /** Ready as the Node says; Unknown when it says nothing. */
  observedReady: string;
  /** Ready as it is now to be; undefined for a new Node that has said nothing yet. */
  ready: NodeCondition | undefined;
  /** What the Node's status has to become; undefined when it stays. */
  conditions: NodeCondition[] | undefined;
}

/** NetworkUnavailable is others' business. */
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

/** The Node's conditions once it has been silent for too long; they keep their order, new ones follow. */
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

/** What is remembered after the Node's own status was looked at, before its lease. */
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
  // Without a Ready condition there is nothing to compare: silence goes on.
  if (!ready) return { ...known, heartbeat };
  return known.heartbeat === heartbeat ? known : now;
}

/** A look at a Node. `renewTime` is its lease's. */
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
