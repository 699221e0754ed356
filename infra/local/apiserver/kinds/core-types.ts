// The Go structs of leases and of the smaller core kinds. Data only. Source: k8s.io/api core/v1 and coordination/v1.
import type { StructTables } from "./go-type.ts";
import { metaTypes, typeMeta } from "./meta-types.ts";

export const coreTypes: StructTables = {
  ...metaTypes,
  "v1.Namespace": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.NamespaceSpec",
    status: "v1.NamespaceStatus",
  },
  "v1.NamespaceSpec": {
    "finalizers?": "[]v1.FinalizerName",
  },
  "v1.NamespaceStatus": {
    "phase?": "v1.NamespacePhase",
    "conditions?": "[]v1.NamespaceCondition",
  },
  "v1.NamespaceCondition": {
    type: "v1.NamespaceConditionType",
    status: "v1.ConditionStatus",
    lastTransitionTime: "v1.Time",
    "reason?": "string",
    "message?": "string",
  },
  "v1.ServiceAccount": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    "secrets?": "[]v1.ObjectReference",
    "imagePullSecrets?": "[]v1.LocalObjectReference",
    "automountServiceAccountToken?": "*bool",
  },
  "v1.LocalObjectReference": {
    "name?": "string",
  },
  "v1.ConfigMap": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    "immutable?": "*bool",
    "data?": "map[string]string",
    "binaryData?": "map[string][]uint8",
  },
  "v1.Secret": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    "immutable?": "*bool",
    "data?": "map[string][]uint8",
    "stringData?": "map[string]string",
    "type?": "v1.SecretType",
  },
  "v1.ObjectReference": {
    "kind?": "string",
    "namespace?": "string",
    "name?": "string",
    "uid?": "types.UID",
    "apiVersion?": "string",
    "resourceVersion?": "string",
    "fieldPath?": "string",
  },
  "v1.Lease": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.LeaseSpec",
  },
  "v1.LeaseSpec": {
    "holderIdentity?": "*string",
    "leaseDurationSeconds?": "*int32",
    "acquireTime?": "*v1.MicroTime",
    "renewTime?": "*v1.MicroTime",
    "leaseTransitions?": "*int32",
    "strategy?": "*v1.CoordinatedLeaseStrategy",
    "preferredHolder?": "*string",
  },
  "v1.Pod": { ...typeMeta, metadata: "v1.ObjectMeta" },
};
