// Makes clusters of a few objects for the checks of rollcall impact. Contains no test.
import type { V1Container, V1Node, V1PodSpec } from "@kubernetes/client-node";
import { type ClusterObjects, emptyCluster } from "../../../infra/impact/cluster-objects.ts";
import type { Check, Plan } from "../../../infra/impact/finding.ts";
import { machineNode } from "../../../infra/impact/machine-node.ts";

export function cluster(objects: Partial<ClusterObjects> = {}): ClusterObjects {
  return { ...emptyCluster(), version: "v1.36.3", ...objects };
}

interface MadeUpNode {
  labels?: Record<string, string>;
  zone?: string;
  isReady?: boolean;
  spec?: V1Node["spec"];
  capacity?: Record<string, string>;
}

/** Returns the Node of a machine with a kubelet. */
export function worker(
  name: string,
  { labels, zone, isReady = true, spec, capacity }: MadeUpNode = {},
): V1Node {
  return {
    metadata: {
      name,
      labels: {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        ...(zone !== undefined && { "topology.kubernetes.io/zone": zone }),
        ...labels,
      },
    },
    ...(spec && { spec }),
    status: {
      ...(capacity && { capacity }),
      conditions: [{ type: "Ready", status: isReady ? "True" : "Unknown" }],
    },
  };
}

export function workersUpTo(count: number, made: MadeUpNode = {}): V1Node[] {
  return Array.from({ length: count }, (_, index) => worker(`worker-${index + 1}`, made));
}

/** Returns the Node of a machine of rollcall, with the labels of an earlier version of rollcall. */
export function formerMachine(name: string, labels: Record<string, string> = {}): V1Node {
  return {
    metadata: {
      name,
      labels: {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": "shop",
        "rollcall.dev/machine": "",
        ...labels,
      },
    },
    spec: { taints: [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }] },
  };
}

export const TOLERATES_ALL = { tolerations: [{ operator: "Exists" }] };

/** Returns a workload: a DaemonSet, Deployment or StatefulSet. */
export function workload(name: string, spec: Partial<V1PodSpec> = {}, container: Partial<V1Container> = {}) {
  const containers = [{ name: "main", image: "example.com/main:1", ...container }];
  return {
    metadata: { name, namespace: "shop" },
    spec: {
      selector: { matchLabels: { app: name } },
      serviceName: name,
      template: { metadata: { labels: { app: name } }, spec: { containers, ...spec } },
    },
  };
}

/** Returns a Deployment that runs the program `name`. */
export function program(name: string, flags: readonly string[] = [], spec: Partial<V1PodSpec> = {}) {
  return workload(name, spec, { image: `registry.example/autoscaling/${name}:v1`, args: [...flags] });
}

/** Returns a static pod of the control plane. */
export function staticPod(name: string, flags: readonly string[] = []) {
  const owner = { apiVersion: "v1", kind: "Node", name: "cp-1", uid: "u" };
  return {
    metadata: { name: `${name}-cp-1`, namespace: "kube-system", ownerReferences: [owner] },
    spec: { containers: [{ name, image: `registry.k8s.io/${name}:v1.36.3`, command: [name, ...flags] }] },
  };
}

export const plan = (changes: Partial<Plan> = {}): Plan => ({
  machines: 300,
  node: machineNode(),
  ...changes,
});

/** Runs a check. Returns each finding as `severity object`, the form in the tests' tables. */
export function found(check: Check, objects: Partial<ClusterObjects>, changes: Partial<Plan> = {}): string[] {
  return check.find(cluster(objects), plan(changes)).map(({ severity, object }) => `${severity} ${object}`);
}

/** Runs a check. Returns the consequence and the remedy of each finding, one finding per line. */
export function textOf(check: Check, objects: Partial<ClusterObjects>, changes: Partial<Plan> = {}): string {
  const findings = check.find(cluster(objects), plan(changes));
  return findings.map(({ consequence, remedy }) => `${consequence} → ${remedy}`).join("\n");
}
