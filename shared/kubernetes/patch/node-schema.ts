// How the fields of v1.Node and of every object's metadata merge in a strategic merge patch. Data only.
// Source: k8s.io/api/core/v1 and apimachinery/pkg/apis/meta/v1, their `patchStrategy` tags.
import { atomicList, keyedList, map, quantities, scalars, setList, struct } from "./schema.ts";

export const typeMeta = scalars("kind", "apiVersion");

export const objectMeta = struct("ObjectMeta", {
  ...scalars("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation"),
  ...scalars("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
  labels: map,
  annotations: map,
  ownerReferences: keyedList(
    "uid",
    struct(
      "OwnerReference",
      scalars("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"),
    ),
  ),
  finalizers: setList,
  managedFields: atomicList,
});

const configSource = struct("NodeConfigSource", {
  configMap: struct(
    "ConfigMapNodeConfigSource",
    scalars("namespace", "name", "uid", "resourceVersion", "kubeletConfigKey"),
  ),
});

const nodeSpec = struct("NodeSpec", {
  ...scalars("podCIDR", "providerID", "unschedulable", "externalID"),
  podCIDRs: setList,
  taints: atomicList,
  configSource,
});

const nodeCondition = struct(
  "NodeCondition",
  scalars("type", "status", "lastHeartbeatTime", "lastTransitionTime", "reason", "message"),
);

const nodeStatus = struct("NodeStatus", {
  ...scalars("phase"),
  capacity: quantities,
  allocatable: quantities,
  conditions: keyedList("type", nodeCondition),
  addresses: keyedList("type", struct("NodeAddress", scalars("type", "address"))),
  daemonEndpoints: struct("NodeDaemonEndpoints", {
    kubeletEndpoint: struct("DaemonEndpoint", scalars("Port")),
  }),
  nodeInfo: struct("NodeSystemInfo", {
    ...scalars("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion"),
    ...scalars("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"),
    swap: struct("NodeSwapStatus", scalars("capacity")),
  }),
  images: atomicList,
  volumesInUse: atomicList,
  volumesAttached: atomicList,
  config: struct("NodeConfigStatus", {
    ...scalars("error"),
    assigned: configSource,
    active: configSource,
    lastKnownGood: configSource,
  }),
  runtimeHandlers: atomicList,
  features: struct("NodeFeatures", scalars("supplementalGroupsPolicy")),
  declaredFeatures: atomicList,
});

export const nodeSchema = struct("Node", {
  ...typeMeta,
  metadata: objectMeta,
  spec: nodeSpec,
  status: nodeStatus,
});
