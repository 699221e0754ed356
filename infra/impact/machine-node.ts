// The Node that a machine of rollcall's gets, as checks compare it and as the dry run creates it.
import type { V1Node } from "@kubernetes/client-node";
import {
  DEPLOYMENT_LABEL,
  FACTS_ONLY_TAINT,
  MACHINE_LABEL,
  NO_LOAD_BALANCER_LABEL,
  OWNER_ANNOTATION,
} from "../../shared/node/ownership.ts";
import type { Taint } from "../../shared/kubernetes/types.ts";

/** What schedulers and controllers compare of a Node. */
export interface MachineNode {
  name: string;
  labels: Readonly<Record<string, string>>;
  taints: readonly ComparedTaint[];
}

/** Without its time. */
export type ComparedTaint = Pick<Taint, "key" | "value" | "effect">;

/** No machine has this name. */
const NAME = "rollcall-impact-dry-run";
const DEPLOYMENT = "rollcall";
const EXCLUDE_DISRUPTION_LABEL = "node.kubernetes.io/exclude-disruption";
/** The region that keeps rollcall's Nodes in an eviction queue of their own. */
export const QUEUE_REGION = "rollcall.dev";
const QUEUE_LABEL = "failure-domain.beta.kubernetes.io/region";

/** Labels that a Node of rollcall's had once, and the key under which their value stands now. */
export const MOVED_LABELS: Readonly<Record<string, string>> = {
  "kubernetes.io/hostname": "rollcall.dev/hostname",
  "kubernetes.io/os": "rollcall.dev/os",
  "kubernetes.io/arch": "rollcall.dev/arch",
  "beta.kubernetes.io/os": "rollcall.dev/os",
  "beta.kubernetes.io/arch": "rollcall.dev/arch",
  "topology.kubernetes.io/zone": "rollcall.dev/zone",
  "topology.kubernetes.io/region": "rollcall.dev/region",
  "failure-domain.beta.kubernetes.io/zone": "rollcall.dev/zone",
};

/** Makes the Node of a new machine. `more`: labels that join tokens set. */
export function machineNode(more: Readonly<Record<string, string>> = {}): MachineNode {
  const labels = {
    ...more,
    [MACHINE_LABEL]: "",
    [DEPLOYMENT_LABEL]: DEPLOYMENT,
    "rollcall.dev/hostname": NAME,
    "rollcall.dev/os": "linux",
    "rollcall.dev/arch": "amd64",
    "rollcall.dev/zone": "zone",
    "rollcall.dev/region": "region",
    [NO_LOAD_BALANCER_LABEL]: "true",
    [EXCLUDE_DISRUPTION_LABEL]: "",
    [QUEUE_LABEL]: QUEUE_REGION,
  };
  return { name: NAME, labels, taints: [FACTS_ONLY_TAINT] };
}

/** The Node as the Worker creates it. `version`: its kubelet version. */
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
