// Measures the node controller: which kubelets get NoExecute, and when, next to our Nodes that are Ready, silent,
// or added and deleted.
import type { Experiment } from "./experiment.ts";
import { type Fleet, join } from "./fleet.ts";
import { hasNoExecute, type KubeObject, NODES, readyOf, until, within } from "./kube.ts";
import { hasProgram, type Lab } from "./lab.ts";
import { startWorkers, workersIn } from "./workers.ts";
import { setTimeout as wait } from "node:timers/promises";

const MONITOR_MS = 1_000;
const GRACE_MS = 8_000;
const HEARTBEAT_MS = 2_500;
/**
 * Returns the flags of the controller manager, whose client has no effective rate limit. `rate`: Nodes a second in
 * each zone that get NoExecute; the controller's default is 0.1.
 */
const flagsWith = (rate: number) => [
  `--node-monitor-period=${MONITOR_MS}ms`,
  `--node-monitor-grace-period=${GRACE_MS}ms`,
  `--node-startup-grace-period=${GRACE_MS}ms`,
  `--node-eviction-rate=${rate}`,
  "--kube-api-qps=2000",
  "--kube-api-burst=4000",
];
const SEEN_WITHIN_MS = 60_000;
const CUT_OFF_WITHIN_MS = 60_000;

const missing = () => (hasProgram("kube-controller-manager") ? null : "kube-controller-manager");

/** Every kubelet loses the control plane at the same moment. The network is at fault then, and no pod may be evicted. */
export const cutOffExperiment: Experiment = { rows: ["all-cut-off"], missing, measure: measureCutOff };

const KUBELETS = 21;
/** The eviction rate of this experiment: ten times the default. */
const CUT_OFF_RATE = 1;
/** The time limit for evictions. At one Node a second, all 7 Nodes of each zone would have NoExecute after 7 s. */
const EVICTED_WITHIN_MS = 12_000;

async function measureCutOff(lab: Lab, fleet: Fleet) {
  const names = await startCluster(lab, fleet, ["zone-a", "zone-b", "zone-c"], KUBELETS, CUT_OFF_RATE);
  await lab.heartbeats.cutOff(names);
  await until(CUT_OFF_WITHIN_MS, "all kubelets are unknown", async () =>
    (await workersOf(lab)).every((node) => readyOf(node) === "Unknown") ? true : undefined,
  );
  let most = 0;
  await within(EVICTED_WITHIN_MS, async () => {
    most = Math.max(most, (await workersOf(lab)).filter(hasNoExecute).length);
    return most === KUBELETS ? true : undefined;
  });
  // Up to one Node of each zone may get NoExecute before the controller has noticed that all zones are dark.
  const isStopped = most <= 3;
  return {
    "all-cut-off": {
      verdict: isStopped ? "evictions stop" : "all evicted",
      detail: `${most} of ${KUBELETS}`,
    },
  };
}

/** One of five kubelets fails after our Nodes have turned silent. The pods of that kubelet must be evicted. */
export const deadKubeletExperiment: Experiment = {
  rows: ["dead-kubelet"],
  missing,
  measure: measureDeadKubelet,
};

/**
 * The eviction rate of this experiment. A pass of the controller draws waiting Nodes in random order
 * (markNodeForTainting). The kubelet's Node is among the first two of 1,000 once in 500 runs.
 */
const DEAD_KUBELET_RATE = 0.2;
const AT_ONCE_MS = 8_000;
const NEVER_MS = 20_000;

async function measureDeadKubelet(lab: Lab, fleet: Fleet) {
  const [dead = ""] = await startCluster(lab, fleet, [null], 5, DEAD_KUBELET_RATE);
  await lab.heartbeats.cutOff([dead]);
  const nodeOf = async () => (await lab.kube.get(`${NODES}/${dead}`)) ?? undefined;
  await until(CUT_OFF_WITHIN_MS, "the kubelet is unknown", async () => {
    const node = await nodeOf();
    return node && readyOf(node) === "Unknown" ? true : undefined;
  });
  const beganMs = performance.now();
  const before = await evictedOfOurs(lab);
  const evicted = await within(NEVER_MS, async () => {
    const node = await nodeOf();
    return node && hasNoExecute(node) ? true : undefined;
  });
  const tookMs = performance.now() - beganMs;
  const detail = `${evicted ? "" : "> "}${(tookMs / 1000).toFixed(0)} s`;
  if (evicted && tookMs < AT_ONCE_MS) return { "dead-kubelet": { verdict: "at once", detail } };
  const isMoving = (await evictedOfOurs(lab)) > before;
  return { "dead-kubelet": { verdict: isMoving ? "among rollcall's Nodes" : "never", detail } };
}

async function evictedOfOurs(lab: Lab): Promise<number> {
  const nodes = await lab.kube.list(NODES);
  return nodes.filter((node) => node.metadata.name.startsWith("edge-") && hasNoExecute(node)).length;
}

/**
 * Starts the kubelets, the fleet and the controller. Returns the kubelets' names once the controller has seen all
 * kubelets as Ready.
 */
async function startCluster(
  lab: Lab,
  fleet: Fleet,
  zones: readonly (string | null)[],
  count: number,
  rate: number,
): Promise<string[]> {
  lab.heartbeats.setInterval(HEARTBEAT_MS);
  const workers = workersIn(zones, count);
  await startWorkers(lab, workers);
  await join(lab, fleet);
  lab.startControllers({ controllers: ["node-lifecycle-controller"], flags: flagsWith(rate) });
  // The controller has seen a Node when it has copied the label of the operating system to its beta name.
  await until(SEEN_WITHIN_MS, "the node controller has seen all kubelets", async () =>
    (await workersOf(lab)).every(({ metadata }) => metadata.labels?.["beta.kubernetes.io/os"] !== undefined)
      ? true
      : undefined,
  );
  await wait(2 * MONITOR_MS);
  return workers.map(({ name }) => name);
}

async function workersOf(lab: Lab): Promise<KubeObject[]> {
  return (await lab.kube.list(NODES)).filter(({ metadata }) => metadata.name.startsWith("worker-"));
}

/** The time by which the last heartbeat of kubelets is later than the last heartbeat of our Nodes. */
const KUBELET_LATER_MS = 3_000;
const MANY_WITHIN_MS = 300_000;

/**
 * Returns the seconds from a kubelet's last heartbeat to NoExecute, if all our Nodes have turned silent shortly
 * before. Returns null after the time limit.
 */
export async function measureManySilent(lab: Lab, fleet: Fleet): Promise<number | null> {
  const workers = workersIn([null], 5);
  const [dead = ""] = workers.map(({ name }) => name);
  lab.heartbeats.setInterval(HEARTBEAT_MS);
  await startWorkers(lab, workers);
  const names = await join(lab, fleet);
  const flags = flagsWith(0.1).filter((flag) => !flag.startsWith("--kube-api-"));
  lab.startControllers({ controllers: ["node-lifecycle-controller"], flags });
  // The controller takes long to set the labels and taints of this number of Nodes.
  await until(MANY_WITHIN_MS, "the node controller has seen all kubelets", async () =>
    (await workersOf(lab)).every(({ metadata }) => metadata.labels?.["beta.kubernetes.io/os"] !== undefined)
      ? true
      : undefined,
  );
  await wait(2 * MONITOR_MS);
  await lab.heartbeats.cutOff(names);
  await wait(KUBELET_LATER_MS);
  await lab.heartbeats.cutOff([dead]);
  const beganMs = performance.now();
  const evicted = await within(MANY_WITHIN_MS, async () => {
    const node = await lab.kube.get(`${NODES}/${dead}`);
    return node !== null && hasNoExecute(node) ? true : undefined;
  });
  return evicted === undefined ? null : (performance.now() - beganMs) / 1000;
}
