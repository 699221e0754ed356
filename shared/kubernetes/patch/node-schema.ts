// Defines the schemas of v1.Node and of every object's metadata: the empty fields that Go leaves out, and the way
// in which fields merge. Source: the `json` and `patchStrategy` tags of k8s.io/api/core/v1 and
// apimachinery/pkg/apis/meta/v1, v0.37.2. test/vectors/emptyFields.json has Go's own output.
import { atomicList, atomicListOf, keyedList, map, quantities, scalars, setList, struct } from "./schema.ts";

export const typeMeta = scalars("kind?", "apiVersion?");

export const objectMeta = struct("ObjectMeta", {
  ...scalars("name?", "generateName?", "namespace?", "selfLink?", "uid?", "resourceVersion?", "generation?"),
  ...scalars("creationTimestamp*", "deletionTimestamp*", "deletionGracePeriodSeconds*"),
  labels: map,
  annotations: map,
  ownerReferences: keyedList(
    "uid",
    struct(
      "OwnerReference",
      scalars("apiVersion", "kind", "name", "uid", "controller*", "blockOwnerDeletion*"),
    ),
  ),
  finalizers: setList,
  managedFields: atomicListOf(
    struct(
      "ManagedFieldsEntry",
      scalars("manager?", "operation?", "apiVersion?", "time*", "fieldsType?", "fieldsV1*", "subresource?"),
    ),
  ),
});

const configSource = struct("NodeConfigSource", {
  configMap: struct(
    "ConfigMapNodeConfigSource",
    scalars("namespace", "name", "uid?", "resourceVersion?", "kubeletConfigKey"),
  ),
});

const nodeSpec = struct("NodeSpec", {
  ...scalars("podCIDR?", "providerID?", "unschedulable?", "externalID?"),
  podCIDRs: setList,
  taints: atomicListOf(struct("Taint", scalars("key", "value?", "effect", "timeAdded*"))),
  configSource,
});

const nodeCondition = struct(
  "NodeCondition",
  scalars("type", "status", "lastHeartbeatTime", "lastTransitionTime", "reason?", "message?"),
);

const nodeStatus = struct("NodeStatus", {
  ...scalars("phase?"),
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
    swap: struct("NodeSwapStatus", scalars("capacity*")),
    ...scalars("runningInUserNamespace*"),
  }),
  images: atomicListOf(struct("ContainerImage", scalars("names", "sizeBytes?"))),
  volumesInUse: atomicList,
  volumesAttached: atomicListOf(struct("AttachedVolume", scalars("name", "devicePath"))),
  config: struct("NodeConfigStatus", {
    ...scalars("error?"),
    assigned: configSource,
    active: configSource,
    lastKnownGood: configSource,
  }),
  runtimeHandlers: atomicListOf(
    struct("NodeRuntimeHandler", {
      ...scalars("name"),
      features: struct("NodeRuntimeHandlerFeatures", scalars("recursiveReadOnlyMounts*", "userNamespaces*")),
    }),
  ),
  features: struct("NodeFeatures", scalars("supplementalGroupsPolicy*")),
  declaredFeatures: atomicList,
});

export const nodeSchema = struct("Node", {
  ...typeMeta,
  metadata: objectMeta,
  spec: nodeSpec,
  status: nodeStatus,
});
