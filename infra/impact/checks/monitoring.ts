// Finds monitoring that expects a kubelet on each Node: scrapes that fail, and alerts on silent machines.
import { type ClusterObjects, objectName } from "../cluster-objects.ts";
import { type Check } from "../finding.ts";
import { programsNamed } from "../programs.ts";
import { isAdapter } from "../../kubectl-top/switch.ts";
import { selects, UNSCHEDULABLE } from "./autoscalers.ts";

export const kubeletService: Check = {
  name: "kubelet-service",
  reads: "flags of prometheus-operator, and its Service for kubelets",
  follows: "Prometheus has a target for each Node, gets no answer from it, and fires the alert TargetDown",
  find: (cluster, { machines, node }) =>
    kubeletServices(cluster)
      .filter(({ selector }) => selects(selector, node))
      .map(({ object }) => ({
        severity: "costs",
        object,
        consequence: `Prometheus gets ${machines} more kubelet targets, one for each Node. Nothing answers there, and TargetDown fires.`,
        remedy: "Set --kubelet-selector=!rollcall.dev/machine for prometheus-operator.",
        link: "https://github.com/prometheus-operator/prometheus-operator/pull/5641",
      })),
};

/** Returns the prometheus-operators that write a kubelet Service, or if there are none the kubelet Services. */
function kubeletServices(cluster: ClusterObjects): { object: string; selector?: string | undefined }[] {
  const operators = programsNamed(cluster, "prometheus-operator").filter(
    ({ flags }) => "kubelet-service" in flags,
  );
  if (operators.length > 0)
    return operators.map(({ object, flags }) => ({ object, selector: flags["kubelet-selector"] }));
  return cluster.services
    .filter(
      ({ metadata }) =>
        metadata?.labels?.["k8s-app"] === "kubelet" ||
        (metadata?.namespace === "kube-system" && metadata.name?.endsWith("kubelet")),
    )
    .map((service) => ({ object: `Service ${objectName(service)}` }));
}

export const metricsServer: Check = {
  name: "metrics-server",
  reads: "flags of metrics-server, which select the Nodes that it scrapes",
  follows:
    "each scrape of a machine's Node fails, since no kubelet answers there; metrics-server logs and counts the failure",
  find: (cluster, { machines, node }) =>
    programsNamed(cluster, "metrics-server")
      .filter(({ flags }) => selects(flags["node-selector"] ?? flags["l"], node))
      .map(({ object }) => ({
        severity: "costs",
        object,
        consequence: `It scrapes ${machines} more kubelets that do not exist: each fails, and its log has a line for it.`,
        remedy: "Set --node-selector=!rollcall.dev/machine for it.",
        link: "https://github.com/kubernetes-sigs/metrics-server/issues/1179",
      })),
};

export const kubectlTop: Check = {
  name: "kubectl-top",
  reads: "the APIService of the metrics that kubectl top and autoscalers read",
  follows: "`kubectl top nodes` shows no values for machines; or these metrics pass rollcall's adapter",
  find: ({ apiServices }, { machines }) =>
    apiServices
      .filter(({ metadata, spec }) => metadata?.name === "v1beta1.metrics.k8s.io" && spec?.service)
      .map(({ spec }) => ({
        severity: "note",
        object: "APIService v1beta1.metrics.k8s.io",
        ...(isAdapter(spec ?? {})
          ? {
              consequence:
                "Metrics of Nodes and pods pass rollcall's adapter, also those of autoscalers. Without its pods they are missing.",
              remedy: "To let the apiserver ask metrics-server again: rollcall kubectl-top off",
            }
          : {
              consequence: `kubectl top nodes shows <unknown> for ${machines} more Nodes.`,
              remedy: "Use rollcall top nodes, or the adapter (docs/kubectl-top.md): rollcall kubectl-top on",
            }),
      })),
};

interface RuleGroup {
  rules?: { alert?: string; expr?: unknown }[];
}

export const nodeAlerts: Check = {
  name: "node-alerts",
  reads: "PrometheusRules with KubeNodeNotReady or KubeNodeUnreachable",
  follows: "each machine that falls silent causes an alert",
  find: ({ prometheusRules }) =>
    prometheusRules.flatMap((rule) => {
      const groups = (rule.spec?.["groups"] ?? []) as RuleGroup[];
      const found = groups
        .flatMap(({ rules = [] }) => rules)
        .filter(({ alert = "" }) => /^KubeNode(NotReady|Unreachable)$/.test(alert));
      if (found.length === 0) return [];
      const passesOver = found.every(({ expr }) => String(expr).includes("unschedulable"));
      return [
        {
          severity: "costs" as const,
          object: `PrometheusRule ${objectName(rule)}`,
          consequence: `A machine that falls silent fires ${found.map(({ alert }) => alert).join(" and ")}, as a kubelet does.`,
          remedy: passesOver
            ? `${UNSCHEDULABLE}: these rules pass over such Nodes. rollcall has alerts of its own.`
            : "Leave Nodes with the label rollcall.dev/machine out of these rules. rollcall has alerts of its own.",
          link: "https://runbooks.prometheus-operator.dev/runbooks/kubernetes/kubenodenotready/",
        },
      ];
    }),
};
