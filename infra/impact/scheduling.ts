// Decides whether a pod would run on a Node, as kube-scheduler and the DaemonSet controller do.
import type {
  V1NodeSelectorRequirement,
  V1NodeSelectorTerm,
  V1PodSpec,
  V1Toleration,
} from "@kubernetes/client-node";
import { matchesLabels } from "../../shared/kubernetes/label-match.ts";
import type { LabelRequirement } from "../../shared/kubernetes/label-selector.ts";
import type { ComparedTaint, MachineNode } from "./machine-node.ts";

const OPERATORS: Readonly<Record<string, LabelRequirement["operator"]>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "absent",
  Gt: ">",
  Lt: "<",
};

/** The tolerations that the DaemonSet controller adds to its pods. Mirrors upstream AddOrUpdateDaemonPodTolerations. */
const DAEMON_TOLERATIONS: readonly V1Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];

/** Returns true if a DaemonSet's pod should run on the Node. Mirrors upstream NodeShouldRunDaemonPod. */
export function runsDaemonPod(spec: V1PodSpec, node: MachineNode): boolean {
  if (spec.nodeName !== undefined && spec.nodeName !== "" && spec.nodeName !== node.name) return false;
  const tolerations = [...(spec.tolerations ?? []), ...DAEMON_TOLERATIONS];
  return matchesNodeAffinity(spec, node) && toleratesTaints(tolerations, node.taints);
}

/** Returns true if the Node matches the pod's node selector and affinity. Mirrors GetRequiredNodeAffinity. */
export function matchesNodeAffinity({ nodeSelector = {}, affinity }: V1PodSpec, node: MachineNode): boolean {
  if (Object.entries(nodeSelector).some(([key, value]) => node.labels[key] !== value)) return false;
  const terms = requiredTerms({ affinity } as V1PodSpec);
  return terms === null || terms.some((term) => matchesTerm(term, node));
}

/** Returns the terms of the required node affinity, one of which must match, or null without such affinity. */
export function requiredTerms({ affinity }: V1PodSpec): V1NodeSelectorTerm[] | null {
  return affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? null;
}

/** Returns true if the Node matches all requirements of the term. A term without a requirement matches no Node. */
export function matchesTerm(
  { matchExpressions = [], matchFields = [] }: V1NodeSelectorTerm,
  node: MachineNode,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields = { "metadata.name": node.name };
  return (
    matchesLabels(matchExpressions.map(requirementOf), node.labels) &&
    matchesLabels(matchFields.map(requirementOf), fields)
  );
}

function requirementOf({ key, operator, values = [] }: V1NodeSelectorRequirement): LabelRequirement {
  return { key, operator: OPERATORS[operator] ?? "absent", values };
}

/** Returns true if the tolerations allow a pod on Nodes with these taints. PreferNoSchedule allows every pod. */
export function toleratesTaints(
  tolerations: readonly V1Toleration[],
  taints: readonly ComparedTaint[],
): boolean {
  return taints
    .filter(({ effect }) => effect !== "PreferNoSchedule")
    .every((taint) => tolerations.some((toleration) => tolerates(toleration, taint)));
}

/** Returns true if the toleration tolerates the taint. Mirrors upstream Toleration.ToleratesTaint. */
function tolerates(
  { key = "", operator = "Equal", value = "", effect = "" }: V1Toleration,
  taint: ComparedTaint,
): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  return operator === "Exists" || (key !== "" && value === (taint.value ?? ""));
}
