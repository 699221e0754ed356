// Returns a Node's nodeInfo in its wire format, for the tables of several setters.
import type { NodeStatus } from "../../../shared/kubernetes/types.ts";

type NodeInfo = NonNullable<NodeStatus["nodeInfo"]>;

/** Texts that the caller does not set are empty. */
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
