// Reads and writes status.nodeInfo, which several setters share.
import type { NodeStatus } from "../kubernetes/types.ts";
import type { DraftNode } from "./setter.ts";

type NodeInfo = NonNullable<NodeStatus["nodeInfo"]>;

/** An empty nodeInfo. The Node's JSON always has all texts of nodeInfo. */
const EMPTY: NodeInfo = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
};

/** The text fields of nodeInfo. The other fields, swap and runningInUserNamespace, are optional. */
export const NODE_INFO_TEXTS = [
  "machineID",
  "systemUUID",
  "bootID",
  "kernelVersion",
  "osImage",
  "containerRuntimeVersion",
  "kubeletVersion",
  "kubeProxyVersion",
  "operatingSystem",
  "architecture",
] as const;

export function nodeInfoOf(node: DraftNode): Readonly<NodeInfo> {
  return node.status.nodeInfo ?? EMPTY;
}

/** Assigns a new nodeInfo with these texts. Equal texts leave the object unchanged, so that comparing is fast. */
export function setNodeInfo(
  node: DraftNode,
  texts: Partial<Pick<NodeInfo, (typeof NODE_INFO_TEXTS)[number]>>,
): void {
  const info = nodeInfoOf(node);
  for (const key of NODE_INFO_TEXTS) {
    const text = texts[key];
    if (text === undefined || text === info[key]) continue;
    node.status.nodeInfo = { ...info, ...texts };
    return;
  }
}
