// Reads the Nodes and their leases, as kubectl would show them.
import {
  CoordinationV1Api,
  CoreV1Api,
  type KubeConfig,
  type V1Lease,
  type V1Node,
} from "@kubernetes/client-node";
import type { NodeRow } from "./table.ts";

/** One look at all Nodes of the cluster. */
export async function readNodes(admin: KubeConfig): Promise<NodeRow[]> {
  const [nodes, leases] = await Promise.all([
    admin.makeApiClient(CoreV1Api).listNode(),
    admin.makeApiClient(CoordinationV1Api).listNamespacedLease({ namespace: "kube-node-lease" }),
  ]);
  const leaseOf = new Map(leases.items.map((lease) => [lease.metadata?.name, lease]));
  return nodes.items.map((node) => nodeRow(node, leaseOf.get(node.metadata?.name)));
}

function nodeRow(node: V1Node, lease: V1Lease | undefined): NodeRow {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  const word = ready === "True" ? "Ready" : ready === "False" ? "NotReady" : "Unknown";
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

/** The library leaves a MicroTime as the text it came in. */
function timeText(time: Date | string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
