// Sends the bare Workers' requests to the apiserver: a generic one, and a lease's renewal.

export interface BareKube {
  KUBE: Fetcher;
  KUBE_URL: string;
  KUBE_TOKEN: string;
}

export interface BareStored {
  metadata: { name: string; uid?: string; resourceVersion?: string };
}

export interface BareLease extends BareStored {
  spec: { holderIdentity: string; leaseDurationSeconds: number; renewTime: string };
}

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

export async function ask<T>(env: BareKube, method: string, path: string, body: object): Promise<T> {
  const response = await env.KUBE.fetch(`${env.KUBE_URL}${path}`, {
    method,
    headers: {
      accept: "application/json",
      authorization: `Bearer ${env.KUBE_TOKEN}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: HTTP ${response.status} ${await response.text()}`);
  return response.json();
}

/** Creates the lease of a machine. `uid` is the UID of the Node that owns the lease. */
export function createLease(env: BareKube, name: string, uid: string | undefined): Promise<BareLease> {
  const owner = { apiVersion: "v1", kind: "Node", name, uid };
  return ask(env, "POST", LEASES, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: "kube-node-lease", ownerReferences: [owner] },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime() },
  });
}

export function renewLease(env: BareKube, lease: BareLease): Promise<BareLease> {
  const renewed = { ...lease, spec: { ...lease.spec, renewTime: microTime() } };
  return ask(env, "PUT", `${LEASES}/${lease.metadata.name}?fieldManager=bare`, renewed);
}

const microTime = () => new Date().toISOString().replace("Z", "000Z");
