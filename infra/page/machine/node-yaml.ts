// The Node as `kubectl get node NAME -o yaml` writes it: keys by the alphabet, without managedFields. Pure; its library is
// an argument, since it is loaded for whom it is for.
import type { stringify } from "yaml";

interface KnownNode {
  metadata?: { managedFields?: unknown };
}

export function nodeYaml(node: object, write: typeof stringify): string {
  const { metadata = {}, ...rest } = node as KnownNode;
  const { managedFields: _, ...kept } = metadata;
  const whole = { apiVersion: "v1", kind: "Node", ...rest, metadata: kept };
  return write(whole, {
    lineWidth: 0,
    indentSeq: false,
    sortMapEntries: true,
    // As kubectl's: what a YAML 1.1 reader would take for something else is quoted.
    version: "1.1",
    aliasDuplicateObjects: false,
  });
}
