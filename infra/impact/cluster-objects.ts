// The objects of a cluster that the checks of rollcall impact read, by their kinds, and what several checks ask of an object.
import type {
  V1ConfigMap,
  V1CronJob,
  V1DaemonSet,
  V1Deployment,
  V1MutatingWebhookConfiguration,
  V1Node,
  V1ObjectMeta,
  V1PersistentVolume,
  V1Pod,
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
  /** Of kube-system: the control plane's static pods are there. */
  systemPods: V1Pod[];
  daemonSets: V1DaemonSet[];
  deployments: V1Deployment[];
  statefulSets: V1StatefulSet[];
  replicaSets: V1ReplicaSet[];
  cronJobs: V1CronJob[];
  validatingWebhooks: V1ValidatingWebhookConfiguration[];
  mutatingWebhooks: V1MutatingWebhookConfiguration[];
  admissionPolicies: V1ValidatingAdmissionPolicy[];
  persistentVolumes: V1PersistentVolume[];
}

/** An object of a custom resource, with what every object has. */
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

/** What was not read, and why: `daemonsets`, `forbidden`. */
export interface Unread {
  what: string;
  why: string;
}

export interface ClusterObjects extends ListedObjects, CustomObjects {
  /** `v1.36.3`; null: not known. */
  version: string | null;
  /** Those that a program names as its configuration. */
  configMaps: V1ConfigMap[];
  unread: Unread[];
}

/** A cluster without objects. */
export function emptyCluster(): ClusterObjects {
  return {
    version: null,
    nodes: [],
    services: [],
    systemPods: [],
    daemonSets: [],
    deployments: [],
    statefulSets: [],
    replicaSets: [],
    cronJobs: [],
    validatingWebhooks: [],
    mutatingWebhooks: [],
    admissionPolicies: [],
    persistentVolumes: [],
    kyvernoPolicies: [],
    gatekeeperConstraints: [],
    nodePools: [],
    upgradePlans: [],
    prometheusRules: [],
    configMaps: [],
    unread: [],
  };
}

/** `namespace/name`, or the name of an object without a namespace. */
export function objectName({
  metadata,
}: {
  metadata?: V1ObjectMeta | { name?: string; namespace?: string };
}): string {
  const { name = "", namespace } = metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Nodes that are not rollcall's. */
export function workers(nodes: readonly V1Node[]): V1Node[] {
  return nodes.filter((node) => !isMachine(node));
}

export function isMachine({ metadata }: V1Node): boolean {
  return metadata?.labels?.[MACHINE_LABEL] !== undefined;
}

export function isReady({ status }: V1Node): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}

/** A count with its noun: `1 Node`, `3 Nodes`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
