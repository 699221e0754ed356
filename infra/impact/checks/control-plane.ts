// Finds programs that read all Nodes of a cluster or compare their versions: scheduler, version checks, upgrade plans.
import type { V1LabelSelector } from "@kubernetes/client-node";
import { COMPARED_MINORS, kubeletVersion, minorOf } from "../../../shared/from-report/kubelet-version.ts";
import { type Check } from "../finding.ts";
import { programsNamed } from "../programs.ts";
import { matchesTerm } from "../scheduling.ts";
import { counted, objectName, workers } from "../cluster-objects.ts";

/** The number of Nodes up to which the scheduler reads all of them in milliseconds. */
const MANY_NODES = 1000;
/** The constants minFeasibleNodesToFind and minFeasibleNodesPercentageToFind of the upstream scheduler. */
const LEAST_FEASIBLE = { nodes: 100, percentage: 5 };

export const schedulerThroughput: Check = {
  name: "scheduler",
  reads: "flags of kube-scheduler, and the number of Nodes",
  follows: "without `percentageOfNodesToScore` kube-scheduler may search all Nodes for each pod",
  find: (cluster, { machines }) => {
    const [scheduler] = programsNamed(cluster, "kube-scheduler");
    const others = workers(cluster.nodes).length;
    const all = cluster.nodes.length + machines;
    const sought = feasibleNodes(all);
    if (all < MANY_NODES || sought <= others || others === 0) return [];
    const percentage = Math.floor((others / all) * 50);
    return [
      {
        severity: "costs",
        object: scheduler?.object ?? "kube-scheduler",
        consequence: `It seeks ${sought} Nodes for each pod, and ${counted(others, "Node")} can run pods: it walks all ${all} each time.`,
        remedy:
          percentage > 0 && others > LEAST_FEASIBLE.nodes
            ? `Set percentageOfNodesToScore: ${percentage} in its configuration, unless it is set there already.`
            : "No setting changes that for so few workers: measure how long pods wait.",
        link: "https://kubernetes.io/docs/concepts/scheduling-eviction/scheduler-perf-tuning/",
      },
    ];
  },
};

/** Returns how many feasible Nodes the scheduler looks for. Mirrors upstream numFeasibleNodesToFind. */
function feasibleNodes(all: number): number {
  if (all < LEAST_FEASIBLE.nodes) return all;
  const percentage = Math.max(50 - Math.floor(all / 125), LEAST_FEASIBLE.percentage);
  return Math.max(Math.floor((all * percentage) / 100), LEAST_FEASIBLE.nodes);
}

/** The number of minor versions by which a kubelet may be older than its apiserver. */
const SKEW = 3;

export const versionSkew: Check = {
  name: "version-skew",
  reads: "the apiserver's version",
  follows: "checks before an upgrade of the cluster report that the Nodes' kubelet version is too old",
  find: ({ version }) => {
    const server = minorOf(version ?? "");
    if (server === undefined || server - COMPARED_MINORS.newest <= SKEW) return [];
    return [
      {
        severity: "note",
        object: "Nodes",
        consequence: `They report kubelet ${kubeletVersion(server)}, the apiserver is ${version}: more than ${SKEW} minor versions newer. Checks such as kubeadm's refuse that.`,
        remedy: "Upgrade the Worker: a later version was compared with a later Kubernetes.",
        link: "https://kubernetes.io/releases/version-skew-policy/",
      },
    ];
  },
};

const HOSTNAME = "kubernetes.io/hostname";

export const upgradePlans: Check = {
  name: "upgrade-plans",
  reads: "Plans of system-upgrade-controller",
  follows: "the controller creates a Job for a Node that runs no pods, so that the plan never ends",
  find: ({ upgradePlans }, { node }) => {
    // Upstream's NodeSelector requires the label of HOSTNAME on each Node in addition to the plan's own selector.
    if (!(HOSTNAME in node.labels)) return [];
    return upgradePlans
      .filter(({ spec }) =>
        matchesSelector(spec?.["nodeSelector"] as V1LabelSelector | undefined, node.labels),
      )
      .map((plan) => ({
        severity: "breaks",
        object: `Plan ${objectName(plan)}`,
        consequence:
          "Its Jobs for Nodes of rollcall's stay Pending, and the plan never goes on to other Nodes.",
        remedy: "Add to its nodeSelector: key rollcall.dev/machine, operator DoesNotExist.",
        link: "https://github.com/rancher/system-upgrade-controller",
      }));
  },
};

/** Mirrors upstream LabelSelectorAsSelector: no selector matches nothing, an empty selector everything. */
export function matchesSelector(
  selector: V1LabelSelector | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const expressions = [
    ...matchExpressions,
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: "In", values: [value] })),
  ];
  return (
    expressions.length === 0 ||
    matchesTerm({ matchExpressions: expressions }, { name: "", labels, taints: [] })
  );
}
