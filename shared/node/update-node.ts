// Makes the Node that a machine should have now out of the last known one. Sends nothing.
import type { Node } from "../kubernetes/types.ts";
import { nodeStatusHasChanged } from "./node-status-changed.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import type { Result } from "../result.ts";

const LABEL_OS = "kubernetes.io/os";
const LABEL_ARCH = "kubernetes.io/arch";
/** What every update sets. */
export const REQUIRED_LABELS: readonly string[] = [LABEL_OS, LABEL_ARCH];

export interface NodeUpdate {
  node: DraftNode;
  /** Does it have to be written? */
  changed: boolean;
  /** The texts of the steps that failed; the other steps ran all the same. */
  errors: string[];
}

/**
 * Upstream Kubelet.updateNode. `original` is left as it is; `node` shares with it what did not change.
 * `goos` and `goarch` are Go's names of the machine's platform, which become labels.
 */
export function updateNode(
  original: Node,
  updatePodCIDR: (podCIDRs: string) => Result<boolean>, // the Node's ranges, comma-separated; are they new?
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
    // As upstream, a range that could not be set counts as changed.
    podCIDRChanged = !outcome.ok || outcome.value;
    if (!outcome.ok) errors.push(outcome.error);
  }
  setRequiredLabels(node, goos, goarch);
  errors.push(...setNodeStatus(node, setters));
  // Upstream's setters set no labels, so that upstream compares the required ones alone.
  const labelsChanged = !isSameMap(original.metadata?.labels ?? {}, node.metadata.labels ?? {});
  const changed = podCIDRChanged || nodeStatusHasChanged(original.status ?? {}, node.status) || labelsChanged;
  return { node, changed, errors };
}

/** A draft for setters: a copy as deep as `DraftNode` requires. */
export function draftOf(node: Node): DraftNode {
  return { ...node, metadata: { ...node.metadata }, spec: { ...node.spec }, status: { ...node.status } };
}

/** Upstream Kubelet.setNodeStatus: runs every setter, even where others fail. Returns the errors. */
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

/** Do they have the same keys and values? */
export function isSameMap(a: Record<string, string>, b: Record<string, string>): boolean {
  if (a === b) return true;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
