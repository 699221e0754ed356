// Tests the findings about DaemonSets that would get pods on rollcall's Nodes, and about spreads that would count
// these Nodes.
import type {
  V1Node,
  V1OwnerReference,
  V1Pod,
  V1PodSpec,
  V1Taint,
  V1TopologySpreadConstraint,
} from "@kubernetes/client-node";
import { expect, test } from "vitest";
import { daemonSets, strandedPods, topologySpread } from "../../../../infra/impact/checks/workloads.ts";
import { machineNode } from "../../../../infra/impact/machine-node.ts";
import { cluster, found, TOLERATES_ALL, workload } from "../made-up-cluster.ts";

test.each<[situation: string, spec: Partial<V1PodSpec>, strategy: string, findings: string[]]>([
  ["tolerates everything", TOLERATES_ALL, "RollingUpdate", ["breaks DaemonSet shop/agent"]],
  ["and is updated by hand", TOLERATES_ALL, "OnDelete", ["costs DaemonSet shop/agent"]],
  ["tolerates nothing", {}, "RollingUpdate", []],
  [
    "tolerates everything, for Linux alone",
    { ...TOLERATES_ALL, nodeSelector: { "kubernetes.io/os": "linux" } },
    "RollingUpdate",
    [],
  ],
])("a DaemonSet that %s → %j", (_, spec, type, findings) => {
  const agent = workload("agent", spec);
  const updated = { ...agent, spec: { ...agent.spec, updateStrategy: { type } } };
  expect(found(daemonSets, { daemonSets: [updated] })).toEqual(findings);
});

const bound = (name: string, nodeName: string, ownerReferences: V1OwnerReference[] = []): V1Pod => ({
  metadata: { namespace: "shop", name, ownerReferences },
  spec: { nodeName, containers: [] },
});
const machine = (name: string, taints: V1Taint[]): V1Node => ({
  metadata: { name, labels: { "rollcall.dev/machine": "" } },
  spec: { taints },
});

test.each<[situation: string, pod: V1Pod, remedy: RegExp | null]>([
  ["on a Node without pods", bound("p", "edge-7"), /^Delete it .* FAIL_STRANDED_PODS to on/],
  [
    "on it, of a controller",
    bound("p", "edge-7", [{ apiVersion: "batch/v1", kind: "Job", name: "j", uid: "u", controller: true }]),
    /DoesNotExist\. The pod is of Job j\.$/,
  ],
  ["on a Node of rollcall's for pods", bound("p", "pods-1"), null],
  ["on a Node with a kubelet", bound("p", "worker-1"), null],
])("a Pending pod %s", (_, pod, remedy) => {
  const nodes = [
    machine("edge-7", [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }]),
    machine("pods-1", []),
    { metadata: { name: "worker-1" } },
  ];
  const findings = strandedPods.find(cluster({ nodes, boundPods: [pod] }), {
    machines: 1,
    node: machineNode({}),
  });
  expect(findings.map(({ object }) => object)).toEqual(remedy ? ["Pod shop/p"] : []);
  if (remedy) expect(findings[0]?.remedy).toMatch(remedy);
});

const spread = (topologyKey: string, more: Partial<V1TopologySpreadConstraint> = {}) => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable: "DoNotSchedule",
  ...more,
});
const OWN = "rollcall.dev/zone";

test.each<
  [situation: string, constraints: V1TopologySpreadConstraint[], spec: Partial<V1PodSpec>, findings: string[]]
>([
  ["the hostname", [spread("kubernetes.io/hostname")], {}, []],
  ["the zone", [spread("topology.kubernetes.io/zone")], {}, []],
  ["a label of a join token", [spread("site")], {}, ["breaks Deployment shop/web"]],
  ["a label of rollcall's", [spread(OWN)], {}, ["breaks Deployment shop/web"]],
  [
    "it, as a wish",
    [spread(OWN, { whenUnsatisfiable: "ScheduleAnyway" })],
    {},
    ["costs Deployment shop/web"],
  ],
  ["it, and taints are honoured", [spread(OWN, { nodeTaintsPolicy: "Honor" })], {}, []],
  [
    "it, taints are honoured and tolerated",
    [spread(OWN, { nodeTaintsPolicy: "Honor" })],
    TOLERATES_ALL,
    ["breaks Deployment shop/web"],
  ],
  ["it, for other Nodes alone", [spread(OWN)], { nodeSelector: { pool: "web" } }, []],
  [
    "it, for other Nodes alone, and that does not count",
    [spread(OWN, { nodeAffinityPolicy: "Ignore" })],
    { nodeSelector: { pool: "web" } },
    ["breaks Deployment shop/web"],
  ],
  ["it, and the hostname", [spread(OWN), spread("kubernetes.io/hostname")], {}, []],
])("a spread by %s → %j", (_, topologySpreadConstraints, spec, findings) => {
  const deployments = [workload("web", { ...spec, topologySpreadConstraints })];
  const node = machineNode({ site: "b" });
  expect(found(topologySpread, { deployments }, { node })).toEqual(findings);
});

test("StatefulSets, and ReplicaSets without an owner, as Deployments", () => {
  const set = workload("db", { topologySpreadConstraints: [spread(OWN)] });
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "d", uid: "u" };
  const owned = { ...set, metadata: { ...set.metadata, ownerReferences: [owner] } };
  expect(found(topologySpread, { statefulSets: [set], replicaSets: [owned, set] })).toEqual([
    "breaks StatefulSet shop/db",
    "breaks ReplicaSet shop/db",
  ]);
});
