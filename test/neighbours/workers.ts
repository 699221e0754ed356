// Simulates kubelets for an experiment: their Nodes and leases, and the pods that become Ready on them.
import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { forAll, type KubeObject, nodeNamed, NODES, PODS } from "./kube.ts";
import type { Lab } from "./lab.ts";

export interface Worker {
  name: string;
  /** The zone of the Node's labels; null: the Node has no labels of a zone. */
  zone: string | null;
  cores?: number;
  address?: string;
  /** The port of the kubelet; 0: no kubelet listens. */
  port?: number;
}

/** Returns `count` workers, spread over the zones. */
export function workersIn(zones: readonly (string | null)[], count: number): Worker[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `worker-${index}`,
    zone: zones[index % zones.length]!,
  }));
}

/** Creates the workers' Nodes, Ready like a kubelet's Nodes, and renews their leases from now on. */
export async function startWorkers(lab: Lab, workers: readonly Worker[]): Promise<void> {
  await forAll(workers, async (worker) => {
    await lab.kube.create(NODES, workerNode(worker));
    // The apiserver's admission taints each new Node as not ready. Without a node controller the taint would stay.
    await lab.kube.patch(nodeNamed(worker.name), { spec: { taints: null } });
  });
  await lab.heartbeats.start(workers.map(({ name }) => name));
}

function workerNode({ name, zone, cores = 4, address = "127.0.1.1", port = 0 }: Worker) {
  const resources = { cpu: `${cores}`, memory: "16Gi", "ephemeral-storage": "100Gi", pods: "110" };
  const at = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const condition = (type: string, status: string, reason: string) => ({
    type,
    status,
    reason,
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  });
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
      labels: {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        ...(zone !== null && {
          "topology.kubernetes.io/zone": zone,
          "topology.kubernetes.io/region": "region-1",
        }),
      },
    },
    status: {
      capacity: resources,
      allocatable: resources,
      addresses: [
        { type: "InternalIP", address },
        { type: "Hostname", address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
      conditions: [
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        condition("Ready", "True", "KubeletReady"),
      ],
      nodeInfo: {
        kubeletVersion: "v1.36.3",
        operatingSystem: "linux",
        architecture: "amd64",
        osImage: "Debian",
        kernelVersion: "6.1.0",
        containerRuntimeVersion: "containerd://2.1.9",
        bootID: name,
        machineID: name,
        systemUUID: name,
        kubeProxyVersion: "",
      },
    },
  };
}

const PLAY_EVERY_MS = 300;

/** Marks pods on workers as Ready, and removes the pods that are deleted, until the experiment ends. */
export function playKubelets(lab: Lab): void {
  lab.during(async (signal) => {
    while (!signal.aborted) {
      const pods = await lab.kube.list(PODS);
      await forAll(pods.filter(isOnWorker), (pod) => playPod(lab, pod));
      await wait(PLAY_EVERY_MS);
    }
  });
}

const isOnWorker = ({ spec }: KubeObject) => spec?.nodeName?.startsWith("worker-") ?? false;

async function playPod(lab: Lab, { metadata, status }: KubeObject): Promise<void> {
  const path = `${PODS}/${metadata.name}`;
  if (metadata.deletionTimestamp !== undefined) return lab.kube.remove(path);
  if (status?.phase === "Running") return;
  const at = new Date().toISOString();
  const conditions = ["Ready", "ContainersReady", "Initialized", "PodScheduled"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: at,
  }));
  const [third = 0, fourth = 0] = createHash("sha256").update(metadata.name).digest();
  const podIP = `10.1.${third}.${fourth}`;
  await lab.kube.patch(`${path}/status`, {
    status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], startTime: at, conditions },
  });
}
