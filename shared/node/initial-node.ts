// Builds the Node that a machine registers.
import type { Taint } from "../kubernetes/types.ts";
import { nodeInfoOf } from "../setters/node-info.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import { setNodeStatus } from "./update-node.ts";
import { failure, type Result, success } from "../result.ts";

export const ATTACH_DETACH_ANNOTATION = "volumes.kubernetes.io/controller-managed-attach-detach";
export const KEEP_TERMINATED_POD_VOLUMES_ANNOTATION = "volumes.kubernetes.io/keep-terminated-pod-volumes";
/** The taint of `externalCloudProvider`, added even if `registerWithTaints` has it: upstream does not compare. */
export const EXTERNAL_CLOUD_TAINT: Taint = {
  key: "node.cloudprovider.kubernetes.io/uninitialized",
  value: "true",
  effect: "NoSchedule",
};
/** The taint that the node controller adds to a cordoned Node. */
export const UNSCHEDULABLE_TAINT: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

export interface InitialNodeOptions {
  nodeName: string;
  hostname: string;
  /** The machine's platform, by Go's names. */
  goos: string;
  goarch: string;
  registerWithTaints: readonly Taint[];
  externalCloudProvider: boolean;
  enableControllerAttachDetach: boolean;
  /** The configured labels. A configured label overrides a label that every Node gets. */
  nodeLabels: Readonly<Record<string, string>>;
  /** The provider ID; "" if there is none. */
  providerID: string;
  declaredFeatures: readonly string[] | null;
  /** The options that only kubelets up to 1.27 have. */
  older?: OlderOptions;
}

export interface OlderOptions {
  /** true if the Node is registered unschedulable (`--register-schedulable=false`). */
  unschedulable: boolean;
  /** true if the Node is registered with NetworkUnavailable since `now`, for a cloud that has to add a route first. */
  networkUnavailable: boolean;
  now: string;
  keepTerminatedPodVolumes: boolean;
  /** The answers of a built-in cloud provider; null if there is none. */
  cloud: CloudFacts | null;
}

/** The answers of a cloud provider. A group is null if the cloud has no such service. */
export interface CloudFacts {
  instances: { providerID: Result<string>; instanceType: Result<string> } | null;
  zone: Result<{ failureDomain: string; region: string }> | null;
}

export interface InitialNode {
  /** The Node, after all setters have run. */
  node: DraftNode;
  /** The errors of the setters that failed. */
  errors: string[];
}

/** Builds the Node (upstream Kubelet.initialNode). Fails only if the cloud provider fails. */
export function initialNode(options: InitialNodeOptions, setters: readonly Setter[]): Result<InitialNode> {
  const { older, declaredFeatures } = options;
  const node: DraftNode = {
    metadata: { name: options.nodeName, labels: { ...defaultLabels(options), ...options.nodeLabels } },
    spec: {},
    status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } } },
  };
  node.status.nodeInfo = nodeInfoOf(node);
  const taints = initialTaints(options);
  if (taints.length > 0) node.spec.taints = taints;
  if (options.enableControllerAttachDetach) annotate(node, ATTACH_DETACH_ANNOTATION);
  if (options.providerID !== "") node.spec.providerID = options.providerID;
  if (older) {
    const error = applyOlderOptions(node, older);
    if (error !== null) return failure(error);
  }
  const errors = setNodeStatus(node, setters);
  if (declaredFeatures && declaredFeatures.length > 0) node.status.declaredFeatures = [...declaredFeatures];
  return success({ node, errors });
}

/** Returns the labels of every Node, and the kubelet's own labels, which override them. */
export function defaultLabels({
  hostname,
  goos,
  goarch,
}: Pick<InitialNodeOptions, "hostname" | "goos" | "goarch">): Record<string, string> {
  return {
    "kubernetes.io/hostname": hostname,
    "kubernetes.io/os": goos,
    "kubernetes.io/arch": goarch,
    "beta.kubernetes.io/os": goos,
    "beta.kubernetes.io/arch": goarch,
  };
}

function initialTaints({ registerWithTaints, externalCloudProvider, older }: InitialNodeOptions): Taint[] {
  const taints = registerWithTaints.map(withoutEmptyValue);
  if (older?.unschedulable && !taints.some((taint) => isSameTaint(taint, UNSCHEDULABLE_TAINT))) {
    taints.push(UNSCHEDULABLE_TAINT);
  }
  if (externalCloudProvider) taints.push(EXTERNAL_CLOUD_TAINT);
  return taints;
}

/** Returns true if key and effect are equal (upstream Taint.MatchTaint). */
export function isSameTaint(
  left: Pick<Taint, "key" | "effect">,
  right: Pick<Taint, "key" | "effect">,
): boolean {
  return left.key === right.key && left.effect === right.effect;
}

/** Returns the taint without an empty value, which Go leaves out of JSON. */
function withoutEmptyValue({ value, ...taint }: Taint): Taint {
  return value ? { ...taint, value } : taint;
}

function annotate(node: DraftNode, annotation: string): void {
  node.metadata.annotations = { ...node.metadata.annotations, [annotation]: "true" };
}

/** Applies the options of kubelets up to 1.27. Returns an error's text; null if it succeeds. */
function applyOlderOptions(node: DraftNode, older: OlderOptions): string | null {
  if (older.unschedulable) node.spec.unschedulable = true;
  if (older.networkUnavailable) node.status.conditions = [networkUnavailable(older.now)];
  if (older.keepTerminatedPodVolumes) annotate(node, KEEP_TERMINATED_POD_VOLUMES_ANNOTATION);
  return older.cloud === null ? null : applyCloudFacts(node, older.cloud);
}

function networkUnavailable(now: string) {
  return {
    type: "NetworkUnavailable",
    status: "True",
    reason: "NoRouteCreated",
    message: "Node created without a route",
    lastTransitionTime: now,
  };
}

function applyCloudFacts(node: DraftNode, { instances, zone }: CloudFacts): string | null {
  if (instances === null) return "failed to get instances from cloud provider";
  if (!node.spec.providerID) {
    if (!instances.providerID.ok) return providerIDError(instances.providerID.error);
    if (instances.providerID.value !== "") node.spec.providerID = instances.providerID.value;
  }
  if (!instances.instanceType.ok) return instances.instanceType.error;
  const labels = { ...node.metadata.labels };
  setUnlessEmpty(labels, instances.instanceType.value, INSTANCE_TYPE_LABELS);
  if (zone !== null) {
    if (!zone.ok) return `failed to get zone from cloud provider: ${zone.error}`;
    setUnlessEmpty(labels, zone.value.failureDomain, ZONE_LABELS);
    setUnlessEmpty(labels, zone.value.region, REGION_LABELS);
  }
  node.metadata.labels = labels;
  return null;
}

const INSTANCE_TYPE_LABELS = ["beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"];
const ZONE_LABELS = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];
const REGION_LABELS = ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"];
export const CLOUD_LABELS: readonly string[] = [...INSTANCE_TYPE_LABELS, ...ZONE_LABELS, ...REGION_LABELS];

/** Returns the labels for these cloud metadata. */
export function cloudLabels({ instanceType = "", zone = "", region = "" }): Record<string, string> {
  const labels: Record<string, string> = {};
  setUnlessEmpty(labels, instanceType, INSTANCE_TYPE_LABELS);
  setUnlessEmpty(labels, zone, ZONE_LABELS);
  setUnlessEmpty(labels, region, REGION_LABELS);
  return labels;
}

function setUnlessEmpty(labels: Record<string, string>, value: string, names: readonly string[]): void {
  if (value === "") return;
  for (const name of names) labels[name] = value;
}

/** Returns the error of a missing provider ID. As upstream, two errors of the cloud provider stay unchanged. */
function providerIDError(error: string): string {
  const isOfTheCloud = error === "instance not found" || error === "unimplemented";
  return isOfTheCloud ? error : `failed to get instance ID from cloud provider: ${error}`;
}
