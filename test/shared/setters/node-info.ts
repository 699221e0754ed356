// A Node's nodeInfo as it is on the wire, for the tables of the setters that share it.
import type { NodeStatus } from "../../../shared/kubernetes/types.ts";

type NodeInfo = NonNullable<NodeStatus["nodeInfo"]>;

/** All texts that are not given are empty. */
export function nodeInfo(known: Partial<NodeInfo>): NodeInfo {
  return {
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
    ...known,
  };
}
