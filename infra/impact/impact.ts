// Assesses how more Nodes of rollcall's would affect a cluster, for rollcall impact. Reads the cluster, runs each
// check, and creates a Node in a dry run. docs/rollcall.md has a table of the checks.
import { kubeletVersion, minorOf } from "../../shared/from-report/kubelet-version.ts";
import { QUEUE_REGION } from "../../shared/node/ownership.ts";
import { type Result, success } from "../../shared/result.ts";
import { policies, webhooks } from "./checks/admission.ts";
import { clusterAutoscaler, descheduler, karpenter, proportionalAutoscaler } from "./checks/autoscalers.ts";
import { cloudController, copiesRegion } from "./checks/cloud.ts";
import { schedulerThroughput, upgradePlans, versionSkew } from "./checks/control-plane.ts";
import { kubectlTop, kubeletService, metricsServer, nodeAlerts } from "./checks/monitoring.ts";
import { nodeAgents, nodeCidrs, routes, topologyHints } from "./checks/network.ts";
import { movedSelectors, movedVolumes } from "./checks/upgrade.ts";
import { daemonSets, strandedPods, topologySpread } from "./checks/workloads.ts";
import { type ClusterObjects, isMachine, type Unread } from "./cluster-objects.ts";
import { type ClusterReader, readCluster, type ReadFault } from "./cluster-reader.ts";
import { type Check, type Finding, SEVERITIES } from "./finding.ts";
import { type MachineNode, machineNode, nodeToCreate } from "./machine-node.ts";

export interface ImpactWish {
  /** The number of Nodes to add. */
  machines: number;
  /** true to also find objects that select Nodes by labels that an upgrade moves. */
  isUpgrade: boolean;
  /** The labels that join tokens give to the Nodes. */
  labels: Readonly<Record<string, string>>;
}

/** The report, which `-o json` prints. Later versions may add fields. */
export interface ImpactReport {
  machines: number;
  /** The version of the apiserver. null if it is not known. */
  version: string | null;
  /** The number of all Nodes, and of rollcall's Nodes among them. */
  nodes: { all: number; machines: number };
  /** The findings, ordered by severity with `breaks` first. */
  findings: Finding[];
  unread: Unread[];
}

/** Reads the cluster and runs all checks. Changes nothing. Returns an error if the whole cluster cannot be read. */
export async function assessImpact(
  reader: ClusterReader,
  wish: ImpactWish,
): Promise<Result<ImpactReport, ReadFault>> {
  const read = await readCluster(reader, { hasVolumes: wish.isUpgrade });
  if (!read.ok) return read;
  const cluster = read.value;
  const node = plannedNode(cluster, wish.labels);
  const tried = await tryNode(reader, node, cluster.version);
  const checks = wish.isUpgrade ? [...CHECKS, ...UPGRADE_CHECKS] : CHECKS;
  const plan = { machines: wish.machines, node };
  const found = checks.flatMap(({ name, find }) =>
    find(cluster, plan).map((each) => ({ check: name, ...each })),
  );
  const findings = [...tried.findings, ...found];
  return success({
    machines: wish.machines,
    version: cluster.version,
    nodes: { all: cluster.nodes.length, machines: cluster.nodes.filter(isMachine).length },
    findings: SEVERITIES.flatMap((severity) => findings.filter((each) => each.severity === severity)),
    unread: [...cluster.unread, ...tried.unread],
  });
}

/** Returns the added Node, with the labels of existing machines and those that a cloud's controller copies. */
function plannedNode(cluster: ClusterObjects, labels: Readonly<Record<string, string>>): MachineNode {
  const there = cluster.nodes.filter(isMachine).map(({ metadata }) => ownLabels(metadata?.labels ?? {}));
  const copied = copiesRegion(cluster) ? { "topology.kubernetes.io/region": QUEUE_REGION } : {};
  const node = machineNode({ ...Object.assign({}, ...there), ...labels });
  return { ...node, labels: { ...node.labels, ...copied } };
}

/** Returns the labels without those of Kubernetes, which a Node of rollcall's does not have. */
function ownLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).filter(([key]) => !/(^|\.)(kubernetes|k8s)\.io\//.test(key)),
  );
}

/** The apiserver's message if the operator lacks the right to create Nodes. The Worker may have that right. */
const NO_RIGHT = /cannot create resource "nodes"/;
const NO_DRY_RUN = /does not support dry run/;

async function tryNode(
  reader: ClusterReader,
  node: MachineNode,
  version: string | null, // the apiserver's version; null if it is not known
): Promise<Pick<ImpactReport, "findings" | "unread">> {
  const tried = await reader.tryNode(nodeToCreate(node, kubeletVersion(minorOf(version ?? ""))));
  if (tried.ok) return { findings: [], unread: [] };
  const { reason, message } = tried.error;
  const what = "a dry run of a Node";
  if (NO_RIGHT.test(message)) return { findings: [], unread: [{ what, why: "forbidden" }] };
  if (NO_DRY_RUN.test(message) || (reason !== "refused" && reason !== "forbidden"))
    return { findings: [], unread: [{ what, why: message }] };
  const finding: Finding = {
    check: "dry-run",
    severity: "breaks",
    object: "Nodes",
    consequence: `The cluster refuses a Node as rollcall creates it: ${message}`,
    remedy: "Except Nodes with the label rollcall.dev/machine from that policy, or the Worker's account.",
  };
  return { findings: [finding], unread: [] };
}

export const CHECKS: readonly Check[] = [
  daemonSets,
  strandedPods,
  topologySpread,
  topologyHints,
  nodeCidrs,
  cloudController,
  clusterAutoscaler,
  upgradePlans,
  proportionalAutoscaler,
  descheduler,
  schedulerThroughput,
  routes,
  nodeAgents,
  kubeletService,
  metricsServer,
  kubectlTop,
  nodeAlerts,
  webhooks,
  policies,
  versionSkew,
  karpenter,
];

/** The checks that only --upgrade runs. */
export const UPGRADE_CHECKS: readonly Check[] = [movedSelectors, movedVolumes];
