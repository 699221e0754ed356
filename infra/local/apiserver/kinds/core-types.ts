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
  },
  "v1.ServiceAccount": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    "secrets?": "[]v1.ObjectReference",
    "imagePullSecrets?": "[]v1.LocalObjectReference",
    "automountServiceAccountToken?": "*bool",
  },
  "v1.Secret": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    "immutable?": "*bool",
    // Of bytes in base64, which are kept as they were sent.
    "data?": "map[string]string",
    "type?": "v1.SecretType",
  },
  "v1.ConfigMap": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    "immutable?": "*bool",
    "data?": "map[string]string",
    // As a Secret's.
    "binaryData?": "map[string]string",
  },
  // As much as the one Service has that there is.
  "v1.Service": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.ServiceSpec",
    status: "v1.ServiceStatus",
  },
  "v1.ServiceSpec": {
    "ports?": "[]v1.ServicePort",
    "clusterIP?": "string",
    "clusterIPs?": "[]string",
    "type?": "v1.ServiceType",
    "sessionAffinity?": "v1.ServiceAffinity",
    "ipFamilies?": "[]v1.IPFamily",
    "ipFamilyPolicy?": "*v1.IPFamilyPolicy",
    "internalTrafficPolicy?": "*v1.ServiceInternalTrafficPolicy",
  },
  "v1.ServicePort": {
    "name?": "string",
    "protocol?": "v1.Protocol",
    port: "int32",
    targetPort: "int32",
  },
  "v1.ServiceStatus": { loadBalancer: "v1.LoadBalancerStatus" },
  "v1.LoadBalancerStatus": {},
  "v1.LocalObjectReference": {
    "name?": "string",
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
  },
  "v1.Pod": { ...typeMeta, metadata: "v1.ObjectMeta" },
};
