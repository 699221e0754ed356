// Defines the objects of a cluster that the checks of rollcall impact read, and functions that several checks use.
import type {
  V1APIService,
  V1ConfigMap,
  V1CronJob,
  V1DaemonSet,
  V1Deployment,
  V1MutatingWebhookConfiguration,
  V1Node,
  V1ObjectMeta,
  V1PersistentVolume,
  V1Pod,
  V1PodSpec,
  V1ReplicaSet,
  V1Service,
  V1StatefulSet,
  V1ValidatingAdmissionPolicy,
  V1ValidatingWebhookConfiguration,
} from "@kubernetes/client-node";
import { MACHINE_LABEL } from "../../shared/node/ownership.ts";

export interface ListedObjects {
  nodes: V1Node[];
  services: V1Service[];
  /** The pods of kube-system, including the static pods of the control plane. */
  systemPods: V1Pod[];
  /** The pods that are bound to a Node and have not started. */
  boundPods: V1Pod[];
  daemonSets: V1DaemonSet[];
  deployments: V1Deployment[];
  statefulSets: V1StatefulSet[];
  replicaSets: V1ReplicaSet[];
  cronJobs: V1CronJob[];
  validatingWebhooks: V1ValidatingWebhookConfiguration[];
  mutatingWebhooks: V1MutatingWebhookConfiguration[];
  admissionPolicies: V1ValidatingAdmissionPolicy[];
  apiServices: V1APIService[];
  persistentVolumes: V1PersistentVolume[];
}

/** The fields of a custom resource's object that the checks read. */
export interface CustomObject {
  apiVersion?: string;
  kind?: string;
  metadata?: { name?: string; namespace?: string };
  spec?: Record<string, unknown>;
}

export interface CustomObjects {
  kyvernoPolicies: CustomObject[];
  gatekeeperConstraints: CustomObject[];
  nodePools: CustomObject[];
  upgradePlans: CustomObject[];
  prometheusRules: CustomObject[];
}

/** A resource that could not be read, and the reason, like `daemonsets` and `forbidden`. */
export interface Unread {
  what: string;
  why: string;
}

export interface ClusterObjects extends ListedObjects, CustomObjects {
  /** The version of the apiserver, like `v1.36.3`. null if it is not known. */
  version: string | null;
  /** The ConfigMaps that programs in the cluster use as their configuration. */
  configMaps: V1ConfigMap[];
  unread: Unread[];
}

const APPS = "/apis/apps/v1";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";

export const LISTS: Readonly<Record<keyof ListedObjects, string>> = {
  nodes: "/api/v1/nodes",
  services: "/api/v1/services",
  systemPods: "/api/v1/namespaces/kube-system/pods",
  boundPods: `/api/v1/pods?fieldSelector=${encodeURIComponent("spec.nodeName!=,status.phase=Pending")}`,
  daemonSets: `${APPS}/daemonsets`,
  deployments: `${APPS}/deployments`,
  statefulSets: `${APPS}/statefulsets`,
  replicaSets: `${APPS}/replicasets`,
  cronJobs: "/apis/batch/v1/cronjobs",
  validatingWebhooks: `${ADMISSION}/validatingwebhookconfigurations`,
  mutatingWebhooks: `${ADMISSION}/mutatingwebhookconfigurations`,
  admissionPolicies: `${ADMISSION}/validatingadmissionpolicies`,
  apiServices: "/apis/apiregistration.k8s.io/v1/apiservices",
  persistentVolumes: "/api/v1/persistentvolumes",
};

/** The API group and resource of each custom resource. A null resource stands for all resources of the group. */
export const CUSTOM: Readonly<
  Record<keyof CustomObjects, readonly [group: string, resource: string | null]>
> = {
  kyvernoPolicies: ["kyverno.io", "clusterpolicies"],
  gatekeeperConstraints: ["constraints.gatekeeper.sh", null],
  nodePools: ["karpenter.sh", "nodepools"],
  upgradePlans: ["upgrade.cattle.io", "plans"],
  prometheusRules: ["monitoring.coreos.com", "prometheusrules"],
};

/** Returns a cluster without objects. */
export function emptyCluster(): ClusterObjects {
  const names = [...Object.keys(LISTS), ...Object.keys(CUSTOM)];
  const lists = Object.fromEntries(names.map((name) => [name, []])) as unknown;
  return { ...(lists as ListedObjects & CustomObjects), version: null, configMaps: [], unread: [] };
}

/** An object that runs pods. */
export interface Workload {
  kind: WorkloadKind;
  /** The kind and name of the object, like `Deployment kube-system/cluster-autoscaler`. */
  object: string;
  namespace: string;
  spec: V1PodSpec;
}

type WorkloadKind = "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "CronJob" | "Pod";

interface OfPods {
  metadata?: V1ObjectMeta;
  spec?: { template?: { spec?: V1PodSpec } };
}

const owners = ({ metadata }: OfPods) => metadata?.ownerReferences ?? [];

const WORKLOADS: Readonly<Record<WorkloadKind, (cluster: ClusterObjects) => readonly OfPods[]>> = {
  Deployment: ({ deployments }) => deployments,
  DaemonSet: ({ daemonSets }) => daemonSets,
  StatefulSet: ({ statefulSets }) => statefulSets,
  ReplicaSet: ({ replicaSets }) => replicaSets.filter((each) => owners(each).length === 0),
  CronJob: ({ cronJobs }) =>
    cronJobs.map(({ metadata = {}, spec }) => ({ metadata, spec: spec?.jobTemplate?.spec ?? {} })),
  // Only static pods, which come from a file on their Node, are listed as pods. Other pods belong to a listed workload.
  Pod: ({ systemPods }) =>
    systemPods
      .filter((pod) => owners({ metadata: pod.metadata ?? {} }).every(({ kind }) => kind === "Node"))
      .map(({ metadata = {}, spec }) => ({ metadata, spec: { template: spec ? { spec } : {} } })),
};

/** Returns the workloads of these kinds that have a pod specification. */
export function workloadsOf(cluster: ClusterObjects, ...kinds: readonly WorkloadKind[]): Workload[] {
  return kinds.flatMap((kind) =>
    WORKLOADS[kind](cluster).flatMap((each) => {
      const spec = each.spec?.template?.spec;
      const { namespace = "" } = each.metadata ?? {};
      return spec ? [{ kind, object: `${kind} ${objectName(each)}`, namespace, spec }] : [];
    }),
  );
}

/** Returns `namespace/name`, or the name alone for an object without a namespace. */
export function objectName({
  metadata,
}: {
  metadata?: V1ObjectMeta | { name?: string; namespace?: string };
}): string {
  const { name = "", namespace } = metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Returns the Nodes that are not rollcall's. */
export function workers(nodes: readonly V1Node[]): V1Node[] {
  return nodes.filter((node) => !isMachine(node));
}

export function isMachine({ metadata }: V1Node): boolean {
  return metadata?.labels?.[MACHINE_LABEL] !== undefined;
}

export function isReady({ status }: V1Node): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}

/** Returns a count with its noun, like `1 Node` or `3 Nodes`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
