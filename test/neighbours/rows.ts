// Lists the rows of the table: decisions of real programs without rollcall, next to our Nodes, and next to Nodes
// without a remedy.
import type { State } from "./fleet.ts";
import type { Kind } from "./our-nodes.ts";

export const COUNTS = [1, 30, 1000] as const;
export type Count = (typeof COUNTS)[number];

export interface Row {
  program: string;
  situation: string;
  /** The states of the fleets with 30 Nodes. Fleets with 1 and 1,000 Nodes have only the first state. */
  states: readonly State[];
  /** The kind of our Nodes in this row, if a setting that the remedy names is needed; absent: the default kind. */
  kind?: Kind;
  without: string;
  /** The outcome next to our Nodes: one for all counts, or one for each count. */
  ours: string | Readonly<Record<Count, string>>;
  /**
   * The fleets without a remedy and their wrong outcome, each of 30 Nodes or of `count`. Empty if the program's
   * outcome never differs.
   */
  controls: readonly { kind: Kind; outcome: string; count?: Count }[];
  /** The remedy in our Nodes, or the reason why none is needed. */
  remedy: string;
  /** What an operator must do if our Nodes have no remedy; present if the row's outcomes differ. */
  limit?: string;
}

const SCHEDULER = "kube-scheduler";
const CONTROLLER_MANAGER = "kube-controller-manager";
const KUBE_STATE_METRICS = "kube-state-metrics, promtool";
const METRICS_SERVER = "metrics-server";
const DESCHEDULER = "descheduler";

const ALL_STATES = ["ready", "silent", "coming and going"] as const;
const OF_PODS = ["ready", "silent"] as const;
const NO_HOSTNAME = "no label `kubernetes.io/hostname`";
const NOT_ALLOCATABLE = "nothing is allocatable";

export const ROWS = {
  "spread-hostname": {
    program: SCHEDULER,
    situation: "6 replicas spread by hostname over 3 workers (`maxSkew: 1`, `DoNotSchedule`): scheduled",
    states: ALL_STATES,
    without: "6 of 6",
    ours: "6 of 6",
    controls: [{ kind: "old", outcome: "3 of 6" }],
    remedy: NO_HOSTNAME,
  },
  "spread-zone": {
    program: SCHEDULER,
    situation: "6 replicas spread by zone, a worker in each of 3 zones: scheduled",
    states: ALL_STATES,
    without: "6 of 6",
    ours: "6 of 6",
    controls: [{ kind: "old", outcome: "3 of 6" }],
    remedy: "no label of a zone",
  },
  "spread-min-domains": {
    program: SCHEDULER,
    situation: "6 replicas spread by hostname with `minDomains: 3` over 3 workers: scheduled",
    states: ALL_STATES,
    without: "6 of 6",
    ours: "6 of 6",
    controls: [{ kind: "old", outcome: "3 of 6" }],
    remedy: NO_HOSTNAME,
  },
  "spread-defaults": {
    program: SCHEDULER,
    situation: "12 replicas of a Service, by the default constraints (scores): replicas of each of 3 workers",
    states: ALL_STATES,
    without: "4, 4, 4",
    ours: "4, 4, 4",
    controls: [],
    remedy: "none needed: a Node that the taint has filtered out has no score",
  },
  "all-cut-off": {
    program: CONTROLLER_MANAGER,
    situation: "21 kubelets in 3 zones are cut off, and ours are not: `NoExecute`",
    states: ["ready", "coming and going"],
    without: "evictions stop",
    ours: "evictions stop",
    controls: [{ kind: "old", outcome: "all evicted" }],
    remedy: "`node.kubernetes.io/exclude-disruption`",
  },
  "dead-kubelet": {
    program: CONTROLLER_MANAGER,
    situation: "ours are silent, then 1 of 5 kubelets without a zone dies: `NoExecute` on it",
    states: ["silent"],
    without: "at once",
    ours: "at once",
    controls: [
      { kind: "old without a zone", outcome: "never" },
      { kind: "without a queue", outcome: "among ours", count: 1000 },
    ],
    remedy: "`node.kubernetes.io/exclude-disruption`, and an eviction queue of our own (a constant region)",
  },
  "daemonset-rollout": {
    program: CONTROLLER_MANAGER,
    situation:
      "a DaemonSet that selects `kubernetes.io/os: linux` and tolerates everything is updated: workers",
    states: OF_PODS,
    without: "6 of 6",
    ours: "6 of 6",
    controls: [{ kind: "old", outcome: "0 of 6" }],
    remedy:
      "no label `kubernetes.io/os`; a DaemonSet without a selector needs an affinity on `rollcall.dev/machine`",
  },
  "node-ranges": {
    program: CONTROLLER_MANAGER,
    situation: "the controller manager has 16 pod ranges, 6 workers have one; a new worker gets",
    states: ["ready"],
    without: "a range",
    ours: { 1: "a range", 30: "no range", 1000: "no range" },
    controls: [],
    remedy: "none: each Node takes a range",
    limit: "room in `kube-controller-manager --cluster-cidr`, or a network that allocates by itself",
  },
  ttl: {
    program: CONTROLLER_MANAGER,
    situation:
      "how long kubelets with the strategy `Cache` keep ConfigMaps (the default strategy is `Watch`)",
    states: OF_PODS,
    without: "0 s",
    ours: { 1: "0 s", 30: "0 s", 1000: "60 s" },
    controls: [],
    remedy: "none: the controller counts all Nodes",
    limit: "leave `configMapAndSecretChangeDetectionStrategy` at its default",
  },
  "attached-volumes": {
    program: CONTROLLER_MANAGER,
    situation: "a pod on a worker uses a volume: attachments",
    states: OF_PODS,
    without: "1",
    ours: "1",
    controls: [],
    remedy: "none needed: volumes follow pods",
  },
  garbage: {
    program: CONTROLLER_MANAGER,
    situation: "a worker's Node is deleted: its lease is",
    states: OF_PODS,
    without: "collected",
    ours: "collected",
    controls: [],
    remedy: "none needed",
  },
  "topology-hints": {
    program: CONTROLLER_MANAGER,
    situation:
      "a Service with `service.kubernetes.io/topology-mode: Auto` in 3 zones (ours with `NODE_HINTS=pass-over`)",
    states: ALL_STATES,
    kind: "pass over",
    without: "hints",
    ours: "hints",
    controls: [{ kind: "ours", outcome: "no hints" }],
    remedy: "`NODE_HINTS=pass-over`, off by default; `trafficDistribution` in the Services needs nothing",
  },
  overcommit: {
    program: KUBE_STATE_METRICS,
    situation: "11 of 12 cores and 44 of 48 GiB are requested: `KubeCPUOvercommit`, `KubeMemoryOvercommit`",
    states: OF_PODS,
    without: "2 of 2 fire",
    ours: "2 of 2 fire",
    controls: [{ kind: "old", outcome: "0 of 2 fire" }],
    remedy: NOT_ALLOCATABLE,
  },
  "not-ready-alert": {
    program: KUBE_STATE_METRICS,
    situation: "ours are silent: `KubeNodeNotReady` (ours with `NODE_UNSCHEDULABLE=on`)",
    states: ["silent"],
    kind: "unschedulable",
    without: "0 alerts",
    ours: "0 alerts",
    controls: [{ kind: "ours", outcome: "30 alerts" }],
    remedy: "`NODE_UNSCHEDULABLE=on`, off by default",
  },
  "unreachable-alert": {
    program: KUBE_STATE_METRICS,
    situation: "ours are silent: `KubeNodeUnreachable`",
    states: ["silent"],
    kind: "unschedulable",
    without: "0 alerts",
    ours: { 1: "1 alerts", 30: "30 alerts", 1000: "1000 alerts" },
    controls: [],
    remedy: "none: the alert is true, and its text is of workloads",
    limit: "route alerts of these Nodes apart: Alertmanager by the Node's name, or a rule of your own",
  },
  "too-many-pods": {
    program: KUBE_STATE_METRICS,
    situation: "`KubeletTooManyPods`",
    states: OF_PODS,
    without: "0 alerts",
    ours: "0 alerts",
    controls: [],
    remedy: "none needed: the rule counts running pods",
  },
  "kubelet-metrics": {
    program: METRICS_SERVER,
    situation: "kubelets that metrics-server reads in a round",
    states: OF_PODS,
    without: "3 of 3",
    ours: "3 of 3",
    controls: [],
    remedy: "none needed",
  },
  "failed-scrapes": {
    program: METRICS_SERVER,
    situation: "lines `Failed to scrape node` in a round",
    states: ["ready"],
    without: "0",
    ours: { 1: "1", 30: "30", 1000: "1000" },
    controls: [],
    remedy: "none: it reads all Nodes",
    limit: "`metrics-server --node-selector='!rollcall.dev/machine'`",
  },
  "low-utilization": {
    program: DESCHEDULER,
    situation: "workers at 90, 90 and 10 % of their CPU, `LowNodeUtilization` from 20 to 50 %: pods",
    states: ["ready"],
    without: "4 evicted",
    ours: "4 evicted",
    controls: [{ kind: "old", outcome: "8 evicted" }],
    remedy: NOT_ALLOCATABLE,
  },
  "low-utilization-deviation": {
    program: DESCHEDULER,
    situation: "the same with `useDeviationThresholds`, 10 % above and below the average: pods",
    states: ["ready"],
    without: "4 evicted",
    ours: { 1: "5 evicted", 30: "0 evicted", 1000: "0 evicted" },
    controls: [],
    remedy: "none: the average is of all Ready Nodes",
    limit: "`nodeSelector: '!rollcall.dev/machine'` in its policy",
  },
  "karpenter-zone": {
    program: "karpenter",
    situation: "6 pending pods spread by zone, instances in 3 zones: pods that Karpenter places",
    states: OF_PODS,
    without: "6 of 6",
    ours: "6 of 6",
    controls: [{ kind: "old", outcome: "3 of 6" }],
    remedy: "no label of a zone",
  },
} as const satisfies Record<string, Row>;

export type RowName = keyof typeof ROWS;

export const rowOf = (name: RowName): Row => ROWS[name];

export function outcomeOf({ ours }: Row, count: Count): string {
  return typeof ours === "string" ? ours : ours[count];
}

/** A row about a program that no experiment runs. Its sources show the decision. */
export interface ReadRow {
  program: string;
  /** A link to the source code at its commit. */
  source: string;
  does: string;
  limit: string;
}

const SCALE_STATE =
  "https://github.com/kubernetes/autoscaler/blob/044c03d09fadf9fb85f344db57677586eaf86451/cluster-autoscaler/clusterstate/clusterstate.go";
const PROPORTIONAL =
  "https://github.com/kubernetes-sigs/cluster-proportional-autoscaler/blob/032aa4a214b43fa8f3073476a64bb2a42bb38110/pkg/autoscaler/k8sclient/k8sclient.go";
const ROUTES =
  "https://github.com/kubernetes/kubernetes/blob/0196f5bd58032d0a542d74008454d9d70cc96125/staging/src/k8s.io/cloud-provider/controllers/route/route_controller.go";
const POD_GARBAGE =
  "https://github.com/kubernetes/kubernetes/blob/003e86297d18a8538c9da3619871393f9703bf70/pkg/controller/podgc/gc_controller.go";

export const READ: readonly ReadRow[] = [
  {
    program: "cluster-autoscaler",
    source: SCALE_STATE,
    does: "`IsClusterHealthy` counts all Nodes of the cluster: silent ones of ours stop scaling, and Ready ones of ours hide workers that are not Ready",
    limit:
      "`cluster-autoscaler --ok-total-unready-count=N` with N above the number of machines that may be silent",
  },
  {
    program: "cluster-proportional-autoscaler",
    source: PROPORTIONAL,
    does: "`GetClusterStatus` sums allocatable cores, where ours have none, and counts Nodes that are not unschedulable",
    limit:
      "`NODE_UNSCHEDULABLE=on`, or `cluster-proportional-autoscaler --nodelabels='!rollcall.dev/machine'`",
  },
  {
    program: "cloud-controller-manager, route controller",
    source: ROUTES,
    does: "`reconcile` creates a route for each Node with a pod range, and sets `NetworkUnavailable` on it: rollcall leaves that condition alone",
    limit: "room in the route table of the cloud, or a network that needs no routes",
  },
  {
    program: "kube-controller-manager, pod garbage collection",
    source: POD_GARBAGE,
    does: "`gcOrphaned` deletes pods whose Node does not exist, and `gcTerminating` pods on a Node with the taint `out-of-service`: no pod is on a Node of ours",
    limit: "nothing",
  },
];
