// Parses and validates the labels that a machine may set on its own Node (the kubelet's --node-labels).
import { trimSpace } from "../go/strings.ts";
import { labelKeyErrors, labelValueErrors } from "./validation.ts";

/** The label with the host's name. Its value differs for each Node. */
export const HOSTNAME_LABEL = "kubernetes.io/hostname";
/** The label with the host's name on a bystander, a Node that runs no pods. */
export const OWN_HOSTNAME_LABEL = "rollcall.dev/hostname";
export const HOSTNAME_LABELS: readonly string[] = [HOSTNAME_LABEL, OWN_HOSTNAME_LABEL];

/** Reports whether the label's value follows from the machine's platform, so that no join token limits it. */
export const isPlatformLabel = (key: string): boolean =>
  /^(?:(?:beta\.)?kubernetes\.io|rollcall\.dev)\/(?:os|arch)$/.test(key);

/** The labels of upstream's kubeletapis.KubeletLabels, sorted. */
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

/** The namespaces of upstream's kubeletapis.KubeletLabelNamespaces, sorted. */
const KUBELET_LABEL_NAMESPACES = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/** Returns true for KUBELET_LABELS and labels in or below KUBELET_LABEL_NAMESPACES (upstream IsKubeletLabel). */
export function isKubeletLabel(key: string): boolean {
  return KUBELET_LABELS.includes(key) || isIn(labelNamespace(key), KUBELET_LABEL_NAMESPACES);
}

/** Returns true for a label in or below kubernetes.io or k8s.io (upstream isKubernetesLabel). */
function isKubernetesLabel(key: string): boolean {
  return isIn(labelNamespace(key), ["kubernetes.io", "k8s.io"]);
}

function isIn(namespace: string, parents: string[]): boolean {
  return parents.some((parent) => namespace === parent || namespace.endsWith(`.${parent}`));
}

/** Returns the part of the key before the first slash; "" without a slash. */
function labelNamespace(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/")));
}

/** Returns the faults of these labels, sorted; null if they are valid (upstream ValidateKubeletFlags). */
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

/** Parses one value of --node-labels, "a=b,c=d" (upstream ConfigurationMap). The last of several equal keys counts. */
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
