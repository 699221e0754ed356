// Runs setters on a Node, and decides whether its status has to be written.
import { quantitiesEqual } from "../kubernetes/quantity/parse.ts";
import { sameInstant } from "../kubernetes/time.ts";
import type { Node, NodeCondition, NodeStatus, ResourceList } from "../kubernetes/types.ts";
import type { Result } from "../result.ts";
import { NODE_INFO_TEXTS } from "../setters/node-info.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";

const LABEL_OS = "kubernetes.io/os";
const LABEL_ARCH = "kubernetes.io/arch";
/** The labels that every update sets. */
export const REQUIRED_LABELS: readonly string[] = [LABEL_OS, LABEL_ARCH];

export interface NodeUpdate {
  node: DraftNode;
  /** true if the Node has to be written. */
  changed: boolean;
  /** The errors of the steps that failed. All other steps have run. */
  errors: string[];
}

/**
 * Runs the setters on a copy of `original`, which shares unchanged parts with it (upstream Kubelet.updateNode).
 * `goos` and `goarch` are Go's names of the machine's platform, and become labels.
 */
export function updateNode(
  original: Node,
  updatePodCIDR: (podCIDRs: string) => Result<boolean>, // comma-separated ranges; the result is true if they are new
  goos: string,
  goarch: string,
  setters: readonly Setter[],
): NodeUpdate {
  const node = draftOf(original);
  const errors: string[] = [];
  const podCIDRs = node.spec.podCIDRs ?? [];
  let podCIDRChanged = false;
  if (podCIDRs.length > 0) {
    const outcome = updatePodCIDR(podCIDRs.join(","));
    // As in upstream, a range that could not be set counts as changed.
    podCIDRChanged = !outcome.ok || outcome.value;
    if (!outcome.ok) errors.push(outcome.error);
  }
  setRequiredLabels(node, goos, goarch);
  errors.push(...setNodeStatus(node, setters));
  // All labels are compared, because rollcall's setters set labels. Upstream compares only the required labels.
  const labelsChanged = !isSameMap(original.metadata?.labels ?? {}, node.metadata.labels ?? {});
  const compared = withoutDroppedFields(original.status ?? {}, node.status);
  const changed = podCIDRChanged || nodeStatusHasChanged(original.status ?? {}, compared) || labelsChanged;
  return { node, changed, errors };
}

/**
 * Returns the status without the fields that an apiserver may drop, if its Node lacks them: each report would write the
 * status again. Apiservers drop `runtimeHandlers` before 1.31, `swap` and `features` before 1.33, and
 * `runningInUserNamespace` before 1.37. Each periodic write still has the fields, for newer apiservers.
 */
function withoutDroppedFields(original: NodeStatus, status: DraftNode["status"]): NodeStatus {
  const compared = { ...status };
  if (!original.features) delete compared.features;
  if (!original.runtimeHandlers?.length) delete compared.runtimeHandlers;
  if (compared.nodeInfo) {
    const nodeInfo = { ...compared.nodeInfo };
    if (!original.nodeInfo?.swap) delete nodeInfo.swap;
    if (original.nodeInfo?.runningInUserNamespace === undefined) delete nodeInfo.runningInUserNamespace;
    compared.nodeInfo = nodeInfo;
  }
  return compared;
}

/** Returns a copy of the Node that shares no part which setters change. */
export function draftOf(node: Node): DraftNode {
  return { ...node, metadata: { ...node.metadata }, spec: { ...node.spec }, status: { ...node.status } };
}

/** Runs all setters, also after one has failed (upstream Kubelet.setNodeStatus). Returns the errors. */
export function setNodeStatus(node: DraftNode, setters: readonly Setter[]): string[] {
  const errors: string[] = [];
  for (const setter of setters) {
    const error = setter(node);
    if (error !== null) errors.push(error);
  }
  return errors;
}

function setRequiredLabels(node: DraftNode, goos: string, goarch: string): void {
  const labels = node.metadata.labels;
  if (labels?.[LABEL_OS] === goos && labels[LABEL_ARCH] === goarch) return;
  node.metadata.labels = { ...labels, [LABEL_OS]: goos, [LABEL_ARCH]: goarch };
}

export function isSameMap(a: Record<string, string>, b: Record<string, string>): boolean {
  if (a === b) return true;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

type Field<Key extends keyof NodeStatus> = NonNullable<NodeStatus[Key]>;
type Image = Field<"images">[number];
type RuntimeHandler = Field<"runtimeHandlers">[number];
type AttachedVolume = Field<"volumesAttached">[number];
type ConfigSource = NonNullable<Field<"config">["assigned"]>;

/** An optional value in JSON, which is undefined or null if absent. */
type Maybe<T> = T | null | undefined;

/**
 * Returns true if the status has changed (upstream nodeStatusHasChanged). Ignores heartbeat times, the order of
 * conditions, and fields that v1.NodeStatus lacks. Compares quantities by value, times by instant, and absent lists
 * like empty ones. Long fields that rarely change come last.
 */
export function nodeStatusHasChanged(original: NodeStatus | null, current: NodeStatus | null): boolean {
  if (original === current) return false;
  if (original === null || current === null) return true;
  return (
    nodeConditionsHaveChanged(original.conditions ?? [], current.conditions ?? []) ||
    !sameResources(original.capacity, current.capacity) ||
    !sameResources(original.allocatable, current.allocatable) ||
    !sameNodeInfo(original.nodeInfo, current.nodeInfo) ||
    !sameList(original.addresses, current.addresses, sameAddress) ||
    !sameList(original.volumesInUse, current.volumesInUse, Object.is) ||
    !sameList(original.volumesAttached, current.volumesAttached, sameAttachedVolume) ||
    (original.phase ?? "") !== (current.phase ?? "") ||
    portOf(original) !== portOf(current) ||
    !sameList(original.runtimeHandlers, current.runtimeHandlers, sameRuntimeHandler) ||
    !samePointer(original.features, current.features, sameFeatures) ||
    !sameList(original.declaredFeatures, current.declaredFeatures, Object.is) ||
    !samePointer(original.config, current.config, sameConfig) ||
    !sameList(original.images, current.images, sameImage)
  );
}

/** Returns true if the conditions differ (upstream nodeConditionsHaveChanged). Sorts only if the order differs. */
function nodeConditionsHaveChanged(original: NodeCondition[], current: NodeCondition[]): boolean {
  if (original.length !== current.length) return true;
  if (original.every((condition, index) => condition.type === current[index]?.type)) {
    return !sameList(original, current, sameCondition);
  }
  return !sameList(original.toSorted(byType), current.toSorted(byType), sameCondition);
}

function byType(a: NodeCondition, b: NodeCondition): number {
  if (a.type === b.type) return 0;
  return a.type < b.type ? -1 : 1;
}

function sameCondition(a: NodeCondition, b: NodeCondition): boolean {
  return (
    a.type === b.type &&
    a.status === b.status &&
    (a.reason ?? "") === (b.reason ?? "") &&
    (a.message ?? "") === (b.message ?? "") &&
    sameInstant(a.lastTransitionTime, b.lastTransitionTime)
  );
}

function sameResources(a: Maybe<ResourceList>, b: Maybe<ResourceList>): boolean {
  if (a === b) return true;
  const names = Object.keys(a ?? {});
  if (names.length !== Object.keys(b ?? {}).length) return false;
  return names.every((name) => b?.[name] !== undefined && sameQuantity(a?.[name], b[name]));
}

/** Compares two quantities. JSON may contain a quantity as a number; null counts as 0. */
function sameQuantity(a: Maybe<string | number>, b: Maybe<string | number>): boolean {
  return a === b || quantitiesEqual(String(a ?? 0), String(b ?? 0));
}

function sameNodeInfo(a: NodeStatus["nodeInfo"], b: NodeStatus["nodeInfo"]): boolean {
  return (
    a === b ||
    (sameTexts(a, b, NODE_INFO_TEXTS) &&
      samePointer(a?.runningInUserNamespace, b?.runningInUserNamespace) &&
      samePointer(a?.swap, b?.swap, (x, y) => samePointer(x.capacity, y.capacity)))
  );
}

function sameAddress(a: Field<"addresses">[number], b: Field<"addresses">[number]): boolean {
  return a.type === b.type && a.address === b.address;
}

function sameAttachedVolume(a: AttachedVolume, b: AttachedVolume): boolean {
  return sameTexts(a, b, ["name", "devicePath"]);
}

function portOf({ daemonEndpoints }: NodeStatus): number {
  return daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
}

function sameRuntimeHandler(a: RuntimeHandler, b: RuntimeHandler): boolean {
  return (
    (a.name ?? "") === (b.name ?? "") &&
    samePointer(
      a.features,
      b.features,
      (x, y) =>
        samePointer(x.recursiveReadOnlyMounts, y.recursiveReadOnlyMounts) &&
        samePointer(x.userNamespaces, y.userNamespaces),
    )
  );
}

function sameFeatures(a: Field<"features">, b: Field<"features">): boolean {
  return samePointer(a.supplementalGroupsPolicy, b.supplementalGroupsPolicy);
}

function sameConfig(a: Field<"config">, b: Field<"config">): boolean {
  return (
    samePointer(a.assigned, b.assigned, sameConfigSource) &&
    samePointer(a.active, b.active, sameConfigSource) &&
    samePointer(a.lastKnownGood, b.lastKnownGood, sameConfigSource) &&
    sameTexts(a, b, ["error"])
  );
}

function sameConfigSource(a: ConfigSource, b: ConfigSource): boolean {
  return samePointer(a.configMap, b.configMap, (x, y) =>
    sameTexts(x, y, ["namespace", "name", "uid", "resourceVersion", "kubeletConfigKey"]),
  );
}

function sameImage(a: Image, b: Image): boolean {
  return (a.sizeBytes ?? 0) === (b.sizeBytes ?? 0) && sameList(a.names, b.names, Object.is);
}

function sameTexts<Key extends string>(
  a: Maybe<Partial<Record<Key, string>>>,
  b: Maybe<Partial<Record<Key, string>>>,
  keys: readonly Key[],
): boolean {
  for (const key of keys) {
    if ((a?.[key] ?? "") !== (b?.[key] ?? "")) return false;
  }
  return true;
}

function sameList<T>(a: Maybe<readonly T[]>, b: Maybe<readonly T[]>, same: (a: T, b: T) => boolean): boolean {
  if (a === b) return true;
  if ((a?.length ?? 0) !== (b?.length ?? 0)) return false;
  let index = 0;
  for (const item of a ?? []) {
    const other = b?.[index++];
    if (other === undefined || !same(item, other)) return false;
  }
  return true;
}

/** Compares two values that are pointers in Go, so that an absent value differs from an empty one. */
function samePointer<T>(a: Maybe<T>, b: Maybe<T>, same: (a: T, b: T) => boolean = Object.is): boolean {
  if (a === b) return true;
  if (a === null || a === undefined || b === null || b === undefined) return (a ?? null) === (b ?? null);
  return same(a, b);
}
