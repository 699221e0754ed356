// Keeps the fields of Nodes and leases that the node controllers decide by, up to date with the store.
import type { NodeCondition, Taint } from "../../../../shared/kubernetes/types.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import type { Change } from "../store.ts";
import type { World } from "./world.ts";

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

const leases = "leases.coordination.k8s.io";
const leaseNamespace = "kube-node-lease";

export interface Seen {
  nodes: Map<string, NodeView>;
  /** The renewTime of each lease, by the lease's name. */
  renewTimes: Map<string, string>;
}

function renewTimeOf({ object }: Pick<Change, "object">): string {
  return textOf(fieldsOf(object["spec"])["renewTime"]);
}

/** Reads all Nodes and leases of the store. */
export function lookAtNodes(store: World["store"]): Seen {
  const nodes = store.list("nodes").map(viewOf);
  return {
    nodes: new Map(nodes.map((node) => [node.name, node])),
    renewTimes: new Map(
      store
        .list(leases, leaseNamespace)
        .map((object) => [object.metadata.name ?? "", renewTimeOf({ object })]),
    ),
  };
}

/** Applies a change of the store. Returns the Node's name if the changed object is a Node. */
export function followNodes(seen: Seen, change: Change): string | undefined {
  const { type, resource, object } = change;
  const { name = "", namespace } = object.metadata;
  const isGone = type === "DELETED";
  if (resource === leases && namespace === leaseNamespace) {
    if (isGone) seen.renewTimes.delete(name);
    else seen.renewTimes.set(name, renewTimeOf(change));
  }
  if (resource !== "nodes") return undefined;
  if (isGone) seen.nodes.delete(name);
  else seen.nodes.set(name, viewOf(object));
  return name;
}
