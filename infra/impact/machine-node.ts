// Makes the Node of a machine of rollcall's, for checks and for the dry run.
import type { V1Node } from "@kubernetes/client-node";
import { bystander } from "../../shared/node/bystander.ts";
import { cloudLabels, defaultLabels } from "../../shared/node/initial-node.ts";
import {
  DEPLOYMENT_LABEL,
  FACTS_ONLY_TAINT,
  MACHINE_LABEL,
  NO_LOAD_BALANCER_LABEL,
  OWNER_ANNOTATION,
} from "../../shared/node/ownership.ts";
import type { Taint } from "../../shared/kubernetes/types.ts";
import type { DraftNode } from "../../shared/setters/setter.ts";

/** The fields of a Node that schedulers and controllers compare. */
export interface MachineNode {
  name: string;
  labels: Readonly<Record<string, string>>;
  taints: readonly ComparedTaint[];
}

/** A taint without the time when it was added. */
export type ComparedTaint = Pick<Taint, "key" | "value" | "effect">;

/** The name of the Node in the dry run. No machine has this name. */
const NAME = "rollcall-impact-dry-run";
const DEPLOYMENT = "rollcall";

/** Makes the Node of a new machine. `more` has the labels that join tokens set. */
export function machineNode(more: Readonly<Record<string, string>> = {}): MachineNode {
  const labels = {
    ...defaultLabels({ hostname: NAME, goos: "linux", goarch: "amd64" }),
    ...cloudLabels({ zone: "zone", region: "region" }),
    ...more,
    [MACHINE_LABEL]: "",
    [DEPLOYMENT_LABEL]: DEPLOYMENT,
    [NO_LOAD_BALANCER_LABEL]: "true",
  };
  const taints = [FACTS_ONLY_TAINT];
  const node: DraftNode = { metadata: { name: NAME, labels }, spec: { taints }, status: {} };
  bystander(false, "moved")(node);
  return { name: NAME, labels: node.metadata.labels ?? {}, taints };
}

/** Returns the Node as the Worker would create it. `version` is the kubelet version in its status. */
export function nodeToCreate({ name, labels, taints }: MachineNode, version: string): V1Node {
  const capacity = { cpu: "4", memory: "8Gi", "ephemeral-storage": "64Gi", pods: "110" };
  const allocatable = Object.fromEntries(Object.keys(capacity).map((resource) => [resource, "0"]));
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { ...labels }, annotations: { [OWNER_ANNOTATION]: DEPLOYMENT } },
    spec: { taints: [...taints] },
    status: {
      capacity,
      allocatable,
      conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "dry run" }],
      nodeInfo: {
        architecture: "amd64",
        bootID: "",
        containerRuntimeVersion: "",
        kernelVersion: "",
        kubeProxyVersion: "",
        kubeletVersion: version,
        machineID: "",
        operatingSystem: "linux",
        osImage: "",
        systemUUID: "",
      },
    },
  };
}
