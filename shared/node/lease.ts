// Builds a machine's lease. Mirrors component-helpers/apimachinery/lease, with the kubelet's SetNodeOwnerFunc.
import { formatMicroTime, parseMicroTime } from "../kubernetes/micro-time.ts";
import type { Lease, Node } from "../kubernetes/types.ts";

export const NODE_LEASE_NAMESPACE = "kube-node-lease";

export interface LeaseOptions {
  leaseName: string;
  leaseNamespace: string;
  /** Written at creation; an existing lease keeps its holder. */
  holderIdentity: string;
  /** Written at creation: they name the deployment that owns the lease. Upstream has none. */
  annotations?: Record<string, string>;
  leaseDurationSeconds: number;
}

/** Upstream controller.newLease: returns a lease to create (`base` null), or `base` with a new renewTime. */
export function newLease(base: Lease | null, options: LeaseOptions, renewTime: string): Lease {
  const { leaseName, leaseNamespace, holderIdentity, annotations, leaseDurationSeconds } = options;
  const { metadata, spec, ...rest } = base ?? {
    metadata: { name: leaseName, namespace: leaseNamespace, ...(annotations && { annotations }) },
    spec: { holderIdentity },
  };
  return { ...rest, metadata: { ...metadata }, spec: { ...spec, leaseDurationSeconds, renewTime } };
}

/** Upstream SetNodeOwnerFunc. */
export function withOwner(lease: Lease, node: Node): Lease {
  const { name = "", uid = "" } = node.metadata ?? {};
  const owner = { apiVersion: "v1", kind: "Node", name, uid };
  return { ...lease, metadata: { ...lease.metadata, ownerReferences: [owner] } };
}

/**
 * Returns the MicroTime of a renewal: now, or just after the last renewal if that is ahead of this clock. Controllers
 * only notice that a renewTime changes.
 */
export function nextRenewTime(nowMicros: number, base: Lease | null): string {
  const last = base?.spec?.renewTime;
  return formatMicroTime(last ? Math.max(nowMicros, parseMicroTime(last) + 1) : nowMicros);
}
