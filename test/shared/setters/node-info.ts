// Makes a Node's nodeInfo in its JSON form, for the tables of several setters.
import type { NodeStatus } from "../../../shared/kubernetes/types.ts";

type NodeInfo = NonNullable<NodeStatus["nodeInfo"]>;

/** Returns nodeInfo with these texts; all other texts are empty. */
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
