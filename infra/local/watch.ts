// Reads the Nodes and their leases, as kubectl would show them.
import type { V1Lease, V1Node } from "@kubernetes/client-node";
import type { KubeAdmin } from "./kube-admin.ts";
import type { NodeRow } from "./table.ts";

/** One look at all Nodes of the cluster. */
export async function readNodes(admin: KubeAdmin): Promise<NodeRow[]> {
  const [nodes, leases] = await Promise.all([
    list<V1Node>(admin, "/api/v1/nodes"),
    list<V1Lease>(admin, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"),
  ]);
  const leaseOf = new Map(leases.map((lease) => [lease.metadata?.name, lease]));
  return nodes.map((node) => nodeRow(node, leaseOf.get(node.metadata?.name)));
}

async function list<T>(admin: KubeAdmin, path: string): Promise<T[]> {
  return ((await admin({ method: "GET", path })) as { items: T[] }).items;
}

function nodeRow(node: V1Node, lease: V1Lease | undefined): NodeRow {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  // kubectl's words: a Node without the condition is Unknown, one whose condition is Unknown is NotReady.
  const word = ready === undefined ? "Unknown" : ready === "True" ? "Ready" : "NotReady";
  const info = node.status?.nodeInfo;
  return {
    name: node.metadata?.name ?? "",
    status: node.spec?.unschedulable ? `${word},SchedulingDisabled` : word,
    leaseRenewedAt: timeText(lease?.spec?.renewTime),
    createdAt: timeText(node.metadata?.creationTimestamp),
    version: info?.kubeletVersion ?? "",
    internalIP: node.status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "",
    osImage: info?.osImage ?? "",
    kernel: info?.kernelVersion ?? "",
  };
}

/** In JSON a time is a text, whatever the type says. */
function timeText(time: Date | string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
