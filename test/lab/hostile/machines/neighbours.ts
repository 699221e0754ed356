// Compares the rest of the cluster before and after a run: honest machines' Nodes, Nodes of kubelets, their leases,
// and objects that no write should change.
import { setTimeout as wait } from "node:timers/promises";
import type { Lease, Node } from "../../../../shared/kubernetes/types.ts";
import type { Admin } from "./cluster.ts";

const NODES = "/api/v1/nodes";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
/** The paths of all objects that the Worker's account could change by mistake. */
const REST = [
  "/api/v1/namespaces",
  "/api/v1/namespaces/rollcall-system/serviceaccounts",
  "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-node-lease/roles",
  "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
];

/** Adds Nodes of kubelets to the cluster. The first kubelet renews its lease, the others have stopped. */
export async function addKubelets(admin: Admin, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const at = new Date().toISOString().replace(/\.\d+/, "");
    const node = await done(admin, "POST", `${NODES}?fieldManager=kubelet`, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" } },
    });
    const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting" };
    await done(admin, "PATCH", `${NODES}/${name}/status?fieldManager=kubelet`, {
      status: {
        conditions: [{ ...ready, lastHeartbeatTime: at, lastTransitionTime: at }],
        capacity: { cpu: "4", memory: "8Gi", pods: "110" },
      },
    });
    await done(admin, "POST", `${LEASES}?fieldManager=kubelet`, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name,
        namespace: "kube-node-lease",
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid: (node as Node).metadata?.uid }],
      },
      spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime() },
    });
  }
}

/** Renews a lease like a kubelet, until `stop` is aborted. */
export async function renewAsKubelet(admin: Admin, name: string, stop: AbortSignal): Promise<void> {
  for (;;) {
    const goesOn = await wait(RENEW_EVERY_MS, true, { signal: stop }).catch(() => false);
    if (!goesOn) return;
    const lease = (await done(admin, "GET", `${LEASES}/${name}`)) as Lease;
    const spec = { ...lease.spec, renewTime: microTime() };
    await done(admin, "PUT", `${LEASES}/${name}?fieldManager=kubelet`, { ...lease, spec });
  }
}

const RENEW_EVERY_MS = 10_000;
const microTime = () => new Date().toISOString().replace("Z", "000Z");

async function done(admin: Admin, method: string, path: string, body?: object): Promise<unknown> {
  const { status, body: answer } = await admin(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path}: HTTP ${status} ${JSON.stringify(answer)}`);
  return answer;
}

/** The text of each object, by its path. */
export type Snapshot = ReadonlyMap<string, string>;

interface Item {
  metadata: { name: string };
}

/** Returns the cluster's objects, without the Nodes that `isHostile` selects, and without their leases. */
export async function snapshotOf(admin: Admin, isHostile: (name: string) => boolean): Promise<Snapshot> {
  const found = new Map<string, string>();
  for (const path of [NODES, LEASES, ...REST]) {
    const { items } = (await done(admin, "GET", path)) as { items: Item[] };
    const isMachines = path === NODES || path === LEASES;
    for (const item of items) {
      if (isMachines && isHostile(item.metadata.name)) continue;
      found.set(`${path}/${item.metadata.name}`, textOf(item));
    }
  }
  return found;
}

/** Returns the objects that changed, are new, or are missing. */
export function differences(before: Snapshot, after: Snapshot): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((what) => {
    const [was, is] = [before.get(what), after.get(what)];
    if (was === is) return [];
    if (is === undefined) return [`${what} is gone`];
    return [was === undefined ? `${what} is new` : `${what}: ${firstDifference(was, is)}`];
  });
}

const SHOWN = 200;

function firstDifference(was: string, is: string): string {
  let at = 0;
  while (at < was.length && was[at] === is[at]) at++;
  const from = Math.max(0, at - SHOWN / 2);
  return `was …${was.slice(from, from + SHOWN)}…, is …${is.slice(from, from + SHOWN)}…`;
}

/** The fields that heartbeats change, which are left out. */
const PASSING = new Set([
  "lastHeartbeatTime",
  "renewTime",
  "resourceVersion",
  "rollcall.dev/status-report",
  "rollcall.dev/status-budget",
]);

/** Returns an object's text. Of its managedFields only the managers' names stay. */
function textOf(item: Item): string {
  return JSON.stringify(item, (key, value: unknown) => {
    if (key === "managedFields") {
      return [...new Set((value as { manager: string }[]).map(({ manager }) => manager))].join(",");
    }
    return PASSING.has(key) ? undefined : value;
  });
}

/** Returns those of these Nodes that are not Ready, or whose lease was not renewed in time. */
export async function notReady(admin: Admin, names: readonly string[], nowMs: number): Promise<string[]> {
  const faults = await Promise.all(
    names.map(async (name) => {
      const { status } = (await done(admin, "GET", `${NODES}/${name}`)) as Node;
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      if (ready?.status !== "True") return [`${name} is not Ready: ${JSON.stringify(ready)}`];
      const { spec } = (await done(admin, "GET", `${LEASES}/${name}`)) as Lease;
      const ageMs = nowMs - Date.parse(spec?.renewTime ?? "");
      const isOld = !(ageMs < (spec?.leaseDurationSeconds ?? 0) * 1000);
      return isOld ? [`${name}: its lease was not renewed for ${ageMs} ms`] : [];
    }),
  );
  return faults.flat();
}
