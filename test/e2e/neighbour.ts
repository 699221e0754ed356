// Another machine's Node, which a test keeps alive: with one machine alone nobody could tell whether it is silent or the
// network is.
import { CoordinationV1Api, CoreV1Api, type KubeConfig, V1MicroTime } from "@kubernetes/client-node";

const NAME = "neighbour";
const LEASE = { name: NAME, namespace: "kube-node-lease" };

export interface Neighbour {
  name: string;
  /** Renews its lease, and is Ready again where the node controller has given it up. */
  renew: () => Promise<void>;
  remove: () => Promise<void>;
}

export async function registerNeighbour(admin: KubeConfig): Promise<Neighbour> {
  const [core, leases] = [admin.makeApiClient(CoreV1Api), admin.makeApiClient(CoordinationV1Api)];
  const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
  await core.createNode({ body: { metadata: { name: NAME }, status: { conditions: [ready] } } });
  const body = { metadata: { name: NAME }, spec: { holderIdentity: NAME } };
  await leases.createNamespacedLease({ ...LEASE, body });
  return {
    name: NAME,
    async renew() {
      const lease = await leases.readNamespacedLease(LEASE);
      lease.spec = { holderIdentity: NAME, renewTime: new V1MicroTime() };
      await leases.replaceNamespacedLease({ ...LEASE, body: lease });
      const node = await core.readNode({ name: NAME });
      if (node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True")) return;
      node.status = { conditions: [ready] };
      await core.replaceNodeStatus({ name: NAME, body: node });
    },
    async remove() {
      await core.deleteNode({ name: NAME });
      await leases.deleteNamespacedLease(LEASE);
    },
  };
}
