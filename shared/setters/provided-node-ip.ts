// Sets the annotation with the configured node IP, which an external cloud provider reads.
import type { DraftNode } from "./setter.ts";

/** The annotation's key (upstream cloudproviderapi.AnnotationAlphaProvidedIPAddr). */
export const PROVIDED_NODE_IP_ANNOTATION = "alpha.kubernetes.io/provided-node-ip";

export function setProvidedNodeIP(node: DraftNode, value: string): void {
  const { annotations } = node.metadata;
  if (annotations?.[PROVIDED_NODE_IP_ANNOTATION] === value) return;
  node.metadata.annotations = { ...annotations, [PROVIDED_NODE_IP_ANNOTATION]: value };
}

export function removeProvidedNodeIP(node: DraftNode): void {
  if (node.metadata.annotations?.[PROVIDED_NODE_IP_ANNOTATION] === undefined) return;
  const annotations = { ...node.metadata.annotations };
  delete annotations[PROVIDED_NODE_IP_ANNOTATION];
  if (Object.keys(annotations).length > 0) node.metadata.annotations = annotations;
  else delete node.metadata.annotations;
}
