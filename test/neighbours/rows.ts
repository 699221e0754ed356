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
  /** The kind of our Nodes in this row, if the remedy needs a setting; absent: the default kind. */
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
const NOT_ALLOCATABLE = "an allocatable of 0";

export const ROWS = {
  "spread-hostname": {
    program: SCHEDULER,
    situation:
      "scheduled replicas, of 6 that spread by hostname over 3 workers (`maxSkew: 1`, `DoNotSchedule`)",
    states: ALL_STATES,
    without: "6 of 6",
    ours: "6 of 6",
    controls: [{ kind: "old", outcome: "3 of 6" }],
    remedy: NO_HOSTNAME,
  },
  "spread-zone": {
    program: SCHEDULER,
    situation: "scheduled replicas, of 6 that spread by zone over 3 workers in 3 zones",
    states: ALL_STATES,
    without: "6 of 6",
    ours: "6 of 6",
    controls: [{ kind: "old", outcome: "3 of 6" }],
    remedy: "no label of a zone",
  },
  "spread-min-domains": {
    program: SCHEDULER,
    situation: "scheduled replicas, of 6 that spread by hostname with `minDomains: 3` over 3 workers",
    states: ALL_STATES,
    without: "6 of 6",
    ours: "6 of 6",
    controls: [{ kind: "old", outcome: "3 of 6" }],
    remedy: NO_HOSTNAME,
  },
  "spread-defaults": {
    program: SCHEDULER,
    situation: "replicas on each of 3 workers, of 12 of a Service, with the default constraints",
    states: ALL_STATES,
    without: "4, 4, 4",
    ours: "4, 4, 4",
    controls: [],
    remedy: "none needed: the scheduler gives no score to a Node with the taint",
  },
  "all-cut-off": {
    program: CONTROLLER_MANAGER,
    situation:
      "21 kubelets in 3 zones are cut off, and rollcall's machines are not: evictions by `NoExecute`",
    states: ["ready", "coming and going"],
    without: "evictions stop",
    ours: "evictions stop",
    controls: [{ kind: "old", outcome: "all evicted" }],
    remedy: "`node.kubernetes.io/exclude-disruption`",
  },
  "dead-kubelet": {
    program: CONTROLLER_MANAGER,
    situation:
      "rollcall's machines are silent, then 1 of 5 kubelets without a zone dies: its taint `NoExecute`",
    states: ["silent"],
    without: "at once",
    ours: "at once",
    controls: [
      { kind: "old without a zone", outcome: "never" },
      { kind: "without a queue", outcome: "among rollcall's Nodes", count: 1000 },
    ],
    remedy: "`node.kubernetes.io/exclude-disruption`, and a separate eviction queue (a constant region)",
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
    situation: "the result for a new worker, if the cluster has 16 pod ranges and 6 workers have one each",
    states: ["ready"],
    without: "a range",
    ours: { 1: "a range", 30: "no range", 1000: "no range" },
    controls: [],
    remedy: "none: each Node needs a range",
    limit:
      "set a large `kube-controller-manager --cluster-cidr`, or use a network that allocates ranges itself",
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
    situation: "attachments, when a pod on a worker uses a volume",
    states: OF_PODS,
    without: "1",
    ours: "1",
    controls: [],
    remedy: "none needed: the controller attaches volumes for pods",
  },
  garbage: {
    program: CONTROLLER_MANAGER,
    situation: "the lease of a worker, after its Node was deleted",
    states: OF_PODS,
    without: "collected",
    ours: "collected",
    controls: [],
    remedy: "none needed",
  },
  "topology-hints": {
    program: CONTROLLER_MANAGER,
    situation:
      "a Service with `service.kubernetes.io/topology-mode: Auto` in 3 zones (Nodes of rollcall with `NODE_HINTS=pass-over`)",
    states: ALL_STATES,
    kind: "pass over",
    without: "hints",
    ours: "hints",
    controls: [{ kind: "ours", outcome: "no hints" }],
    remedy: "`NODE_HINTS=pass-over`, off by default; Services with `trafficDistribution` need no remedy",
  },
  overcommit: {
    program: KUBE_STATE_METRICS,
    situation:
      "pods request 11 of 12 cores and 44 of 48 GiB: the alerts `KubeCPUOvercommit` and `KubeMemoryOvercommit`",
    states: OF_PODS,
    without: "2 of 2 fire",
    ours: "2 of 2 fire",
    controls: [{ kind: "old", outcome: "0 of 2 fire" }],
    remedy: NOT_ALLOCATABLE,
  },
  "not-ready-alert": {
    program: KUBE_STATE_METRICS,
    situation: "rollcall's machines are silent: the alert `KubeNodeNotReady` (with `NODE_UNSCHEDULABLE=on`)",
    states: ["silent"],
    kind: "unschedulable",
    without: "0 alerts",
    ours: "0 alerts",
    controls: [{ kind: "ours", outcome: "30 alerts" }],
    remedy: "`NODE_UNSCHEDULABLE=on`, off by default",
  },
  "unreachable-alert": {
    program: KUBE_STATE_METRICS,
    situation: "rollcall's machines are silent: the alert `KubeNodeUnreachable`",
    states: ["silent"],
    kind: "unschedulable",
    without: "0 alerts",
    ours: { 1: "1 alerts", 30: "30 alerts", 1000: "1000 alerts" },
    controls: [],
    remedy: "none: the alert is correct, but its text concerns workloads",
    limit:
      "route alerts of these Nodes separately in Alertmanager, by the Node's name, or write your own rule",
  },
  "too-many-pods": {
    program: KUBE_STATE_METRICS,
    situation: "the alert `KubeletTooManyPods`",
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
    situation: "log lines `Failed to scrape node` in a round",
    states: ["ready"],
    without: "0",
    ours: { 1: "1", 30: "30", 1000: "1000" },
    controls: [],
    remedy: "none: metrics-server reads all Nodes",
    limit: "`metrics-server --node-selector='!rollcall.dev/machine'`",
  },
  "top-nodes": {
    program: METRICS_SERVER,
    situation: "workers with values in `kubectl top nodes`, after `rollcall kubectl-top on`",
    states: ["ready"],
    without: "3 of 3",
    ours: "3 of 3",
    controls: [],
    remedy: "none needed: the adapter passes on what it does not answer; it is off by default",
  },
  "low-utilization": {
    program: DESCHEDULER,
    situation:
      "evicted pods, for workers at 90, 90 and 10 % of their CPU and `LowNodeUtilization` from 20 to 50 %",
    states: ["ready"],
    without: "4 evicted",
    ours: "4 evicted",
    controls: [{ kind: "old", outcome: "8 evicted" }],
    remedy: NOT_ALLOCATABLE,
  },
  "low-utilization-deviation": {
    program: DESCHEDULER,
    situation:
      "evicted pods, for these workers and `useDeviationThresholds`, 10 % above and below the average",
    states: ["ready"],
    without: "4 evicted",
    ours: { 1: "5 evicted", 30: "0 evicted", 1000: "0 evicted" },
    controls: [],
    remedy: "none: descheduler computes the average of all Ready Nodes",
    limit: "set `nodeSelector: '!rollcall.dev/machine'` in descheduler's policy",
  },
  "karpenter-zone": {
    program: "karpenter",
    situation: "pods that Karpenter places, of 6 pending pods that spread by zone, with instances in 3 zones",
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
    does: "`IsClusterHealthy` counts all Nodes of the cluster: silent Nodes of rollcall stop scaling, and Ready Nodes of rollcall hide workers that are not Ready",
    limit:
      "`cluster-autoscaler --ok-total-unready-count=N` with N above the number of machines that may be silent",
  },
  {
    program: "cluster-proportional-autoscaler",
    source: PROPORTIONAL,
    does: "`GetClusterStatus` sums allocatable cores, to which Nodes of rollcall add 0, and counts Nodes that are not unschedulable",
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
    does: "`gcOrphaned` deletes pods whose Node does not exist, and `gcTerminating` pods on a Node with the taint `out-of-service`; Nodes of rollcall have no pods",
    limit: "nothing",
  },
];
