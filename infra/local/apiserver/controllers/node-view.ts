// What the node controllers know of a Node: the few fields that they decide by. Decides nothing.
import type { NodeCondition, Taint } from "../../../../shared/kubernetes/types.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";

export interface NodeView {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  labels: Readonly<Record<string, string>>;
  unschedulable: boolean;
  taints: readonly Taint[];
  conditions: readonly NodeCondition[];
}

function conditionOf(value: unknown): NodeCondition {
  const { type, status, reason, message, lastHeartbeatTime, lastTransitionTime } = fieldsOf(value);
  return {
    type: textOf(type),
    status: textOf(status),
    ...(reason !== undefined && { reason: textOf(reason) }),
    ...(message !== undefined && { message: textOf(message) }),
    lastHeartbeatTime: textOf(lastHeartbeatTime),
    lastTransitionTime: textOf(lastTransitionTime),
  };
}

function taintOf(value: unknown): Taint {
  const { key, value: own, effect, timeAdded } = fieldsOf(value);
  return {
    key: textOf(key),
    effect: textOf(effect),
    ...(own !== undefined && { value: textOf(own) }),
    ...(timeAdded !== undefined && { timeAdded: textOf(timeAdded) }),
  };
}

export function viewOf(node: ApiObject): NodeView {
  const { name = "", uid = "", resourceVersion = "", creationTimestamp = "", labels = {} } = node.metadata;
  const spec = fieldsOf(node["spec"]);
  return {
    name,
    uid,
    resourceVersion,
    creationTimestamp,
    labels,
    unschedulable: spec["unschedulable"] === true,
    taints: listOf(spec["taints"]).map(taintOf),
    conditions: listOf(fieldsOf(node["status"])["conditions"]).map(conditionOf),
  };
}

export function conditionOfType(
  conditions: readonly NodeCondition[],
  type: string,
): NodeCondition | undefined {
  return conditions.find((condition) => condition.type === type);
}
