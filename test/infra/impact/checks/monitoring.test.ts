// Tests the findings about scrapes of kubelets that do not exist, and about alerts on silent machines.
import { expect, test } from "vitest";
import {
  kubeletService,
  kubectlTop,
  metricsServer,
  nodeAlerts,
} from "../../../../infra/impact/checks/monitoring.ts";
import { found, program, textOf } from "../made-up-cluster.ts";

const SERVICE = "--kubelet-service=kube-system/prom-kubelet";
const operator = (...flags: string[]) => ({ deployments: [program("prometheus-operator", flags)] });
const named = (name: string, labels = {}) => ({
  services: [{ metadata: { name, namespace: "kube-system", labels } }],
});

test.each<[situation: string, objects: Parameters<typeof found>[1], findings: string[]]>([
  ["an operator that keeps it", operator(SERVICE), ["costs Deployment shop/prometheus-operator"]],
  [
    "one that passes over rollcall's Nodes",
    operator(SERVICE, "--kubelet-selector=!rollcall.dev/machine"),
    [],
  ],
  ["one that keeps none", operator(), []],
  ["a Service without a visible operator", named("prom-kubelet"), ["costs Service kube-system/prom-kubelet"]],
  ["one by its label", named("nodes", { "k8s-app": "kubelet" }), ["costs Service kube-system/nodes"]],
  ["another Service", named("kube-dns"), []],
])("the kubelet Service: %s → %j", (_, objects, findings) => {
  expect(found(kubeletService, objects)).toEqual(findings);
});

test.each<[flags: string[], findings: string[]]>([
  [[], ["costs Deployment shop/metrics-server"]],
  [["--node-selector=!rollcall.dev/machine"], []],
  [["-l", "kubernetes.io/os=linux"], []],
])("metrics-server with %j → %j", (flags, findings) => {
  expect(found(metricsServer, { deployments: [program("metrics-server", flags)] })).toEqual(findings);
});

const rule = (alert: string, expr: string) => ({
  prometheusRules: [
    {
      metadata: { name: "rules", namespace: "monitoring" },
      spec: { groups: [{ rules: [{ record: "a" }, { alert, expr }] }] },
    },
  ],
});

test.each<[situation: string, objects: Parameters<typeof found>[1], says: RegExp]>([
  [
    "passes over unschedulable Nodes",
    rule("KubeNodeNotReady", "ready == 0 and on(node) kube_node_spec_unschedulable == 0"),
    /→ Set NODE_UNSCHEDULABLE=on/,
  ],
  ["passes over none", rule("KubeNodeNotReady", "ready == 0"), /→ Leave Nodes with the label/],
  ["is about something else", rule("KubePodCrashLooping", "x"), /^$/],
  ["has no groups", { prometheusRules: [{ metadata: { name: "empty" }, spec: {} }] }, /^$/],
])("a rule that %s → %#", (_, objects, says) => {
  expect(textOf(nodeAlerts, objects)).toMatch(says);
});

const apiService = (service: { name: string; namespace: string }) => ({
  apiServices: [{ metadata: { name: "v1beta1.metrics.k8s.io" }, spec: { service, ...PRIORITIES } }],
});
const PRIORITIES = { groupPriorityMinimum: 100, versionPriority: 100 };

test.each<[situation: string, objects: Parameters<typeof textOf>[1], text: RegExp]>([
  [
    "metrics-server",
    apiService({ name: "metrics-server", namespace: "kube-system" }),
    /^kubectl top nodes shows <unknown> for 300 more Nodes.*rollcall kubectl-top on$/,
  ],
  [
    "the adapter",
    apiService({ name: "kubectl-top", namespace: "rollcall-top" }),
    /rollcall kubectl-top off$/,
  ],
  ["no metrics", {}, /^$/],
])("kubectl top of %s", (_, objects, text) => {
  expect(textOf(kubectlTop, objects)).toMatch(text);
});
