// Builds a machine's lease. Mirrors component-helpers/apimachinery/lease, with the kubelet's SetNodeOwnerFunc.
import { formatMicroTime, parseMicroTime } from "../kubernetes/micro-time.ts";
import type { Lease, Node } from "../kubernetes/types.ts";

export const NODE_LEASE_NAMESPACE = "kube-node-lease";

export interface LeaseOptions {
  leaseName: string;
  leaseNamespace: string;
  /** The name of the lease's holder, which is written only when the lease is created. */
  holderIdentity: string;
  /** The annotations that name the lease's deployment, written only when the lease is created. Upstream has none. */
  annotations?: Record<string, string>;
  leaseDurationSeconds: number;
}

/** Returns a new lease if `base` is null, else `base` with another renewTime (upstream controller.newLease). */
export function newLease(base: Lease | null, options: LeaseOptions, renewTime: string): Lease {
  const { leaseName, leaseNamespace, holderIdentity, annotations, leaseDurationSeconds } = options;
  const { metadata, spec, ...rest } = base ?? {
    metadata: { name: leaseName, namespace: leaseNamespace, ...(annotations && { annotations }) },
    spec: { holderIdentity },
  };
  return { ...rest, metadata: { ...metadata }, spec: { ...spec, leaseDurationSeconds, renewTime } };
}

/** Returns the lease with the Node as its owner (upstream SetNodeOwnerFunc). */
export function withOwner(lease: Lease, node: Node): Lease {
  const { name = "", uid = "" } = node.metadata ?? {};
  const owner = { apiVersion: "v1", kind: "Node", name, uid };
  return { ...lease, metadata: { ...lease.metadata, ownerReferences: [owner] } };
}

/** Returns the MicroTime of a renewal: now, or just after the last renewal if that is in the future. */
export function nextRenewTime(nowMicros: number, base: Lease | null): string {
  const last = base?.spec?.renewTime;
  return formatMicroTime(last ? Math.max(nowMicros, parseMicroTime(last) + 1) : nowMicros);
}
