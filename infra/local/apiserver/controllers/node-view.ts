// Keeps the fields of Nodes and leases that the node controllers decide by, up to date with the store.
import type { Node, NodeCondition, Taint } from "../../../../shared/kubernetes/types.ts";
import { type ApiObject, textAt } from "../object.ts";
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

export function viewOf(node: ApiObject): NodeView {
  const { name = "", uid = "", resourceVersion = "", creationTimestamp = "", labels = {} } = node.metadata;
  // The fields have their types, because each write is decoded into its Go type.
  const { spec, status } = node as unknown as Node;
  return {
    name,
    uid,
    resourceVersion,
    creationTimestamp,
    labels,
    unschedulable: spec?.unschedulable === true,
    taints: spec?.taints ?? [],
    conditions: status?.conditions ?? [],
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

/** Reads all Nodes and leases of the store. */
export function lookAtNodes(store: World["store"]): Seen {
  const seen: Seen = { nodes: new Map(), renewTimes: new Map() };
  for (const object of store.list("nodes")) follow(seen, "nodes", object);
  for (const object of store.list(leases, leaseNamespace)) follow(seen, leases, object);
  return seen;
}

function follow({ nodes, renewTimes }: Seen, resource: string, object: ApiObject): void {
  const { name = "", namespace } = object.metadata;
  if (resource === "nodes") nodes.set(name, viewOf(object));
  if (resource === leases && namespace === leaseNamespace)
    renewTimes.set(name, textAt(object, "spec.renewTime"));
}

/** Applies a change of the store. Returns the Node's name if the changed object is a Node. */
export function followNodes(seen: Seen, { type, resource, object }: Change): string | undefined {
  const { name = "", namespace } = object.metadata;
  if (type !== "DELETED") follow(seen, resource, object);
  else if (resource === "nodes") seen.nodes.delete(name);
  else if (resource === leases && namespace === leaseNamespace) seen.renewTimes.delete(name);
  return resource === "nodes" ? name : undefined;
}
