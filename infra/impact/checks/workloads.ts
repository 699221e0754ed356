// Finds workloads that would get a pod on a Node of rollcall's, or would count such a Node as a domain for their pods.
import type { V1PodSpec, V1TopologySpreadConstraint } from "@kubernetes/client-node";
import { isBystander } from "../../../shared/node/bystander.ts";
import { isMachine, objectName, workloadsOf } from "../cluster-objects.ts";
import { type Check, type Found } from "../finding.ts";
import type { MachineNode } from "../machine-node.ts";
import { matchesNodeAffinity, runsDaemonPod, toleratesTaints } from "../scheduling.ts";

export const AFFINITY_PATCH =
  "Add a required node affinity to its pods: key rollcall.dev/machine, operator DoesNotExist.";

export const daemonSets: Check = {
  name: "daemon-sets",
  reads: "DaemonSets that tolerate the taint and select rollcall's Nodes",
  follows: "each Node of rollcall gets a Pending pod, and one such pod blocks every later rolling update",
  find: ({ daemonSets }, { node, machines }) =>
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
};

export const strandedPods: Check = {
  name: "stranded-pods",
  reads: "Pending pods that are bound to a Node of rollcall that runs no pods",
  follows: "no program starts such a pod, and `kubectl drain` waits for its end",
  find: ({ boundPods, nodes }) => {
    const names = new Set(
      nodes
        .filter((node) => isMachine(node) && isBystander(node, true))
        .map(({ metadata }) => metadata?.name),
    );
    return boundPods
      .filter(({ spec }) => names.has(spec?.nodeName))
      .map((pod) => {
        const owner = pod.metadata?.ownerReferences?.find(({ controller }) => controller);
        return {
          severity: "costs",
          object: `Pod ${objectName(pod)}`,
          consequence: `It is bound to ${pod.spec?.nodeName}, which has no kubelet, and stays Pending.`,
          remedy: owner
            ? `${AFFINITY_PATCH} The pod is of ${owner.kind} ${owner.name}.`
            : "Delete it with kubectl delete pod --force. To have rollcall fail such pods: apply infra/rbac/pods.yaml, and set " +
              "FAIL_STRANDED_PODS to on.",
          link: "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename",
        } as const;
      });
  },
};

export const topologySpread: Check = {
  name: "topology-spread",
  reads: "Deployments, StatefulSets and ReplicaSets with topologySpreadConstraints",
  follows:
    "a Node with their topology key is a domain without pods, so that replicas stay Pending or spread worse",
  find: (cluster, { node }) =>
    workloadsOf(cluster, "Deployment", "StatefulSet", "ReplicaSet").flatMap(({ object, spec }) => {
      const all = spec.topologySpreadConstraints ?? [];
      const hard = counting(all, "DoNotSchedule", spec, node);
      const soft = counting(all, "ScheduleAnyway", spec, node);
      return [
        ...hard.map((each) => spreadFinding(object, each, "breaks", node)),
        ...soft.map((each) => spreadFinding(object, each, "costs", node)),
      ];
    }),
};

/** Returns the constraints for which the Node counts as a domain. Mirrors upstream calPreFilterState. */
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
