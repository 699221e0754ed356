// The Go structs of a Node. Data only. Source: k8s.io/api core/v1.
import type { StructTables } from "./go-type.ts";
import { metaTypes, typeMeta } from "./meta-types.ts";

export const nodeTypes: StructTables = {
  ...metaTypes,
  "v1.Node": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.NodeSpec",
    status: "v1.NodeStatus",
  },
  "v1.NodeSpec": {
    "podCIDR?": "string",
    "podCIDRs?": "[]string",
    "providerID?": "string",
    "unschedulable?": "bool",
    "taints?": "[]v1.Taint",
    "externalID?": "string",
  },
  "v1.NodeStatus": {
    "capacity?": "map[v1.ResourceName]resource.Quantity",
    "allocatable?": "map[v1.ResourceName]resource.Quantity",
    "phase?": "v1.NodePhase",
    "conditions?": "[]v1.NodeCondition",
    "addresses?": "[]v1.NodeAddress",
    daemonEndpoints: "v1.NodeDaemonEndpoints",
    nodeInfo: "v1.NodeSystemInfo",
    "images?": "[]v1.ContainerImage",
    "volumesInUse?": "[]v1.UniqueVolumeName",
    "volumesAttached?": "[]v1.AttachedVolume",
    "runtimeHandlers?": "[]v1.NodeRuntimeHandler",
    "features?": "*v1.NodeFeatures",
    "declaredFeatures?": "[]string",
  },
  "v1.Taint": {
    key: "string",
    "value?": "string",
    effect: "v1.TaintEffect",
    "timeAdded?": "*v1.Time",
  },
  "v1.NodeCondition": {
    type: "v1.NodeConditionType",
    status: "v1.ConditionStatus",
    lastHeartbeatTime: "v1.Time",
    lastTransitionTime: "v1.Time",
    "reason?": "string",
    "message?": "string",
  },
  "v1.NodeAddress": {
    type: "v1.NodeAddressType",
    address: "string",
  },
  "v1.NodeSystemInfo": {
    machineID: "string",
    systemUUID: "string",
    bootID: "string",
    kernelVersion: "string",
    osImage: "string",
    containerRuntimeVersion: "string",
    kubeletVersion: "string",
    kubeProxyVersion: "string",
    operatingSystem: "string",
    architecture: "string",
    "swap?": "*v1.NodeSwapStatus",
  },
  "v1.NodeSwapStatus": {
    "capacity?": "*int64",
  },
  "v1.NodeDaemonEndpoints": {
    kubeletEndpoint: "v1.DaemonEndpoint",
  },
  "v1.DaemonEndpoint": {
    Port: "int32",
  },
  "v1.ContainerImage": {
    names: "[]string",
    "sizeBytes?": "int64",
  },
  "v1.AttachedVolume": {
    name: "v1.UniqueVolumeName",
    devicePath: "string",
  },
  "v1.NodeRuntimeHandler": {
    name: "string",
    "features?": "*v1.NodeRuntimeHandlerFeatures",
  },
  "v1.NodeRuntimeHandlerFeatures": {
    "recursiveReadOnlyMounts?": "*bool",
    "userNamespaces?": "*bool",
  },
  "v1.NodeFeatures": {
    "supplementalGroupsPolicy?": "*bool",
  },
};
