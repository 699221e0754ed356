// The labels that a machine may give its own Node (the kubelet's --node-labels): parses and validates them.
import { trimSpace } from "../go/strings.ts";
import { labelKeyErrors, labelValueErrors } from "./validation.ts";

/** The host's name, by which each Node differs. */
export const HOSTNAME_LABEL = "kubernetes.io/hostname";
/** The same of a Node that runs no pods. */
export const OWN_HOSTNAME_LABEL = "rollcall.dev/hostname";
export const HOSTNAME_LABELS: readonly string[] = [HOSTNAME_LABEL, OWN_HOSTNAME_LABEL];

/** Upstream kubeletapis.KubeletLabels, sorted. */
const KUBELET_LABELS = [
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "kubernetes.io/arch",
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
];

/** Upstream kubeletapis.KubeletLabelNamespaces, sorted. */
const KUBELET_LABEL_NAMESPACES = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/** Upstream kubeletapis.IsKubeletLabel: a known label, or one in or below a namespace of the kubelet's. */
export function isKubeletLabel(key: string): boolean {
  return KUBELET_LABELS.includes(key) || isIn(labelNamespace(key), KUBELET_LABEL_NAMESPACES);
}

/** Upstream isKubernetesLabel: in or below kubernetes.io or k8s.io. */
function isKubernetesLabel(key: string): boolean {
  return isIn(labelNamespace(key), ["kubernetes.io", "k8s.io"]);
}

function isIn(namespace: string, parents: string[]): boolean {
  return parents.some((parent) => namespace === parent || namespace.endsWith(`.${parent}`));
}

/** What stands before the first slash; "" without one. */
function labelNamespace(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/")));
}

/**
 * Upstream ValidateKubeletFlags: why these labels cannot be set; null when they can. Upstream lists several faults
 * in no order, here they are sorted.
 */
export function validateNodeLabels(labels: Record<string, string>): string | null {
  const keys = Object.keys(labels).sort();
  const unknown = keys.filter((key) => isKubernetesLabel(key) && !isKubeletLabel(key));
  if (unknown.length > 0) {
    return (
      `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${unknown.join(" ")}]\n` +
      "--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix " +
      `(${KUBELET_LABEL_NAMESPACES.join(", ")}) or be in the specifically allowed set (${KUBELET_LABELS.join(", ")})`
    );
  }
  const faults = new Map<string, string[]>();
  const note = (text: string, errors: string[]) => {
    if (errors.length > 0) faults.set(text, [...(faults.get(text) ?? []), ...errors]);
  };
  for (const key of keys) {
    const value = labels[key] ?? "";
    note(key, labelKeyErrors(key));
    note(value, labelValueErrors(value));
  }
  if (faults.size === 0) return null;
  const texts = [...faults].map(([text, errors]) => `'${text}' - ${errors.join(", ")}`);
  return `invalid node labels: ${texts.join("; ")}`;
}

/** Reads one value of --node-labels, "a=b,c=d". Where a key is given twice, the last one counts (ConfigurationMap). */
export function parseNodeLabels(flag: string): Record<string, string> {
  const labels: [string, string][] = [];
  for (const pair of flag.split(",")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const key = at < 0 ? pair : pair.slice(0, at);
    const value = at < 0 ? "" : pair.slice(at + 1);
    labels.push([trimSpace(key), trimSpace(value)]);
  }
  return Object.fromEntries(labels);
}
