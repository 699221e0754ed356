// Reads and writes status.nodeInfo, which several setters share.
import type { NodeStatus } from "../kubernetes/types.ts";
import type { DraftNode } from "./setter.ts";

type NodeInfo = NonNullable<NodeStatus["nodeInfo"]>;

/** The wire form always has all texts of nodeInfo. */
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

/** The texts of nodeInfo; its other field, swap, is optional. */
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

/** Assigns a new nodeInfo with these texts. If it has them already, the object stays, so that comparing is cheap. */
export function setNodeInfo(node: DraftNode, texts: Partial<Omit<NodeInfo, "swap">>): void {
  const info = nodeInfoOf(node);
  for (const key of NODE_INFO_TEXTS) {
    const text = texts[key];
    if (text === undefined || text === info[key]) continue;
    node.status.nodeInfo = { ...info, ...texts };
    return;
  }
}
