// Workloads that would get a pod on a Node of rollcall's, or would count it as a place for their pods.
import type {
  V1LabelSelector,
  V1ObjectMeta,
  V1PodSpec,
  V1TopologySpreadConstraint,
} from "@kubernetes/client-node";
import { type ClusterObjects, objectName } from "../cluster-objects.ts";
import { check, type Found } from "../finding.ts";
import type { MachineNode } from "../machine-node.ts";
import { matchesNodeAffinity, runsDaemonPod, toleratesTaints } from "../scheduling.ts";

export const AFFINITY_PATCH =
  "Add a required node affinity to its pods: key rollcall.dev/machine, operator DoesNotExist.";

export const daemonSets = check(
  "daemon-sets",
  {
    reads: "DaemonSets that tolerate the taint and select rollcall's Nodes",
    follows: "a Pending pod on each of them; one such pod blocks every later rolling update",
  },
  ({ daemonSets }, { node, machines }) =>
    daemonSets
      .filter(({ spec }) => spec?.template.spec && runsDaemonPod(spec.template.spec, node))
      .map((daemonSet) => {
        const isRolling = daemonSet.spec?.updateStrategy?.type !== "OnDelete";
        const pending = `${machines} of its pods would stay Pending, one on each Node.`;
        return {
          severity: isRolling ? "breaks" : "costs",
          object: `DaemonSet ${objectName(daemonSet)}`,
          consequence: isRolling
            ? `${pending} One such pod blocks its rolling updates on real Nodes.`
            : pending,
          remedy: AFFINITY_PATCH,
          link: "https://kubernetes.io/docs/tasks/manage-daemon/update-daemon-set/",
        } as const;
      }),
);

interface Spreading {
  object: string;
  spec: V1PodSpec;
}

export const topologySpread = check(
  "topology-spread",
  {
    reads: "Deployments, StatefulSets and ReplicaSets with topologySpreadConstraints",
    follows:
      "a Node with their topology key is a domain without pods: replicas stay Pending, or spread worse",
  },
  (cluster, { node }) =>
    spreading(cluster).flatMap(({ object, spec }) => {
      const all = spec.topologySpreadConstraints ?? [];
      const hard = counting(all, "DoNotSchedule", spec, node);
      const soft = counting(all, "ScheduleAnyway", spec, node);
      return [
        ...hard.map((each) => spreadFinding(object, each, "breaks", node)),
        ...soft.map((each) => spreadFinding(object, each, "costs", node)),
      ];
    }),
);

function spreading(cluster: ClusterObjects): Spreading[] {
  const { deployments, statefulSets, replicaSets } = cluster;
  const ofKind = (
    kind: string,
    objects: readonly {
      metadata?: V1ObjectMeta;
      spec?: { template?: { spec?: V1PodSpec }; selector: V1LabelSelector };
    }[],
  ) =>
    objects.flatMap((each) => {
      const spec = each.spec?.template?.spec;
      return spec ? [{ object: `${kind} ${objectName(each)}`, spec }] : [];
    });
  const owned = replicaSets.filter(({ metadata }) => (metadata?.ownerReferences ?? []).length === 0);
  return [
    ...ofKind("Deployment", deployments),
    ...ofKind("StatefulSet", statefulSets),
    ...ofKind("ReplicaSet", owned),
  ];
}

/** Upstream calPreFilterState: a Node counts where it has the topology keys of all constraints of that kind. */
function counting(
  all: readonly V1TopologySpreadConstraint[],
  whenUnsatisfiable: string,
  spec: V1PodSpec,
  node: MachineNode,
): V1TopologySpreadConstraint[] {
  const ofKind = all.filter((each) => each.whenUnsatisfiable === whenUnsatisfiable);
  if (!ofKind.every(({ topologyKey }) => topologyKey in node.labels)) return [];
  return ofKind.filter(
    ({ nodeAffinityPolicy = "Honor", nodeTaintsPolicy = "Ignore" }) =>
      (nodeAffinityPolicy === "Ignore" || matchesNodeAffinity(spec, node)) &&
      (nodeTaintsPolicy === "Ignore" || toleratesTaints(spec.tolerations ?? [], node.taints)),
  );
}

function spreadFinding(
  object: string,
  { topologyKey, maxSkew }: V1TopologySpreadConstraint,
  severity: "breaks" | "costs",
  node: MachineNode,
): Found {
  const domain = `${topologyKey}=${node.labels[topologyKey]}`;
  return {
    severity,
    object,
    consequence:
      severity === "breaks"
        ? `Its spread counts ${domain} as a domain without pods: with maxSkew ${maxSkew} replicas stay Pending.`
        : `Its spread counts ${domain} as a domain without pods, and prefers the others less evenly.`,
    remedy: "Set nodeTaintsPolicy: Honor in this constraint, so that tainted Nodes do not count.",
    link: "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/",
  };
}
