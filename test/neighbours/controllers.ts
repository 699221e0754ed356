// Experiments with the other controllers of kube-controller-manager, all but the node controller: DaemonSets, address
// ranges of Nodes, the TTL of caches, attached volumes, garbage collection.
import type { Experiment, Outcome } from "./experiment.ts";
import { type Fleet, join } from "./fleet.ts";
import { type KubeObject, LEASES, nodeNamed, PODS, settled, until, within } from "./kube.ts";
import { hasProgram, type Lab } from "./lab.ts";
import { playKubelets, startWorkers, workersIn } from "./workers.ts";

const WORKERS = 6;
const FLAGS = [
  "--allocate-node-cidrs=true",
  // With the mask of 28 bits, this range has room for 16 Nodes.
  "--cluster-cidr=10.244.0.0/24",
  "--node-cidr-mask-size=28",
  "--kube-api-qps=2000",
  "--kube-api-burst=4000",
];
const STARTED_WITHIN_MS = 120_000;
const ROLLED_OUT_WITHIN_MS = 25_000;
const RANGE_WITHIN_MS = 10_000;
const COLLECTED_WITHIN_MS = 60_000;

const DAEMON_SET = "/apis/apps/v1/namespaces/default/daemonsets/agent";
const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";

export const controllersExperiment: Experiment = {
  rows: ["daemonset-rollout", "node-ranges", "ttl", "attached-volumes", "garbage"],
  missing: () =>
    ["kube-controller-manager", "kube-scheduler"].find((program) => !hasProgram(program)) ?? null,
  measure,
};

async function measure(lab: Lab, fleet: Fleet) {
  await startWorkers(lab, workersIn(["zone-a", "zone-b", "zone-c"], WORKERS));
  await join(lab, fleet);
  await createDaemonSet(lab);
  await createVolume(lab);
  lab.startScheduler();
  lab.startControllers({
    controllers: [
      "daemonset-controller",
      "node-ipam-controller",
      "ttl-controller",
      "persistentvolume-attach-detach-controller",
      "garbage-collector-controller",
    ],
    flags: FLAGS,
  });
  playKubelets(lab);
  await until(STARTED_WITHIN_MS, "the DaemonSet's pods are on all workers", async () =>
    (await agents(lab)).filter(isRunning).length === WORKERS ? true : undefined,
  );
  return {
    "daemonset-rollout": await rollOut(lab),
    "node-ranges": await rangeOfNewWorker(lab),
    ttl: await ttlOfWorker(lab),
    "attached-volumes": await attachedVolumes(lab),
    garbage: await collected(lab),
  };
}

/** Creates a DaemonSet that tolerates every taint, as kube-proxy, a CNI's agent and node-exporter do. */
async function createDaemonSet(lab: Lab): Promise<void> {
  const labels = { app: "agent" };
  await lab.kube.create("/apis/apps/v1/namespaces/default/daemonsets", {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent" },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, version: "1" } },
        spec: {
          nodeSelector: { "kubernetes.io/os": "linux" },
          tolerations: [{ operator: "Exists" }],
          containers: [{ name: "main", image: "example.com/none" }],
        },
      },
    },
  });
}

async function agents(lab: Lab, version = "1"): Promise<KubeObject[]> {
  return lab.kube.list(`${PODS}?labelSelector=${encodeURIComponent(`app=agent,version=${version}`)}`);
}

const isRunning = ({ status, metadata }: KubeObject) =>
  status?.phase === "Running" && metadata.deletionTimestamp === undefined;

/** Rolls a new version of the DaemonSet out. The verdict is the number of workers that run its pod in the end. */
async function rollOut(lab: Lab): Promise<Outcome> {
  const template = { metadata: { labels: { app: "agent", version: "2" } } };
  await lab.kube.patch(DAEMON_SET, { spec: { template } });
  let updated = 0;
  await within(ROLLED_OUT_WITHIN_MS, async () => {
    updated = (await agents(lab, "2")).filter(isRunning).length;
    return updated === WORKERS ? true : undefined;
  });
  return { verdict: `${updated} of ${WORKERS}` };
}

async function rangeOfNewWorker(lab: Lab): Promise<Outcome> {
  await startWorkers(lab, [{ name: "worker-new", zone: "zone-a" }]);
  const range = await within(
    RANGE_WITHIN_MS,
    async () => (await lab.kube.get(nodeNamed("worker-new")))?.spec?.podCIDR,
  );
  return { verdict: range === undefined ? "no range" : "a range" };
}

/** Returns how many seconds a kubelet with the strategy Cache keeps ConfigMaps and Secrets. */
async function ttlOfWorker(lab: Lab): Promise<Outcome> {
  // The controller computes the TTL when a Node is updated, which a kubelet does every few minutes.
  await lab.kube.patch(nodeNamed("worker-0"), { metadata: { annotations: { updated: "yes" } } });
  const ttl = await settled({ quietMs: 2_000, withinMs: 30_000 }, async () => {
    const node = await lab.kube.get(nodeNamed("worker-0"));
    return node?.metadata.annotations?.["node.alpha.kubernetes.io/ttl"] ?? "none";
  });
  return { verdict: `${ttl} s` };
}

const VOLUME = "volume";

/** Creates a bound volume of a CSI driver, and a pod on a worker that uses the volume. */
async function createVolume(lab: Lab): Promise<void> {
  const driver = "driver.example.com";
  const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  await lab.kube.create(claims, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: VOLUME, annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
    spec: {
      accessModes: ["ReadWriteOnce"],
      volumeName: VOLUME,
      storageClassName: "",
      resources: { requests: { storage: "1Gi" } },
    },
  });
  const claim = await lab.kube.get(`${claims}/${VOLUME}`);
  await lab.kube.create("/api/v1/persistentvolumes", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: VOLUME },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      csi: { driver, volumeHandle: VOLUME },
      claimRef: { namespace: "default", name: VOLUME, uid: claim?.metadata.uid },
    },
  });
  await lab.kube.patch(`${claims}/${VOLUME}/status`, { status: { phase: "Bound" } });
  await lab.kube.create(PODS, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: VOLUME },
    spec: {
      nodeName: "worker-0",
      containers: [{ name: "main", image: "example.com/none" }],
      volumes: [{ name: VOLUME, persistentVolumeClaim: { claimName: VOLUME } }],
    },
  });
}

async function attachedVolumes(lab: Lab): Promise<Outcome> {
  const read = async () => `${(await lab.kube.list(ATTACHMENTS)).length}`;
  await within(30_000, async () => ((await read()) === "0" ? undefined : true));
  return { verdict: await settled({ quietMs: 2_000, withinMs: 30_000 }, read) };
}

/** Deletes a worker's Node. The verdict is whether the garbage collector deletes the worker's lease. */
async function collected(lab: Lab): Promise<Outcome> {
  await startWorkers(lab, [{ name: "worker-gone", zone: "zone-a" }]);
  lab.heartbeats.forget("worker-gone");
  const { metadata } = (await lab.kube.get(nodeNamed("worker-gone"))) ?? {};
  const owner = { apiVersion: "v1", kind: "Node", name: "worker-gone", uid: metadata?.uid };
  await lab.kube.patch(`${LEASES}/worker-gone`, { metadata: { ownerReferences: [owner] } });
  await lab.kube.remove(nodeNamed("worker-gone"));
  const gone = await within(COLLECTED_WITHIN_MS, async () =>
    (await lab.kube.get(`${LEASES}/worker-gone`)) === null ? true : undefined,
  );
  return { verdict: gone === undefined ? "kept" : "collected" };
}
