// The Go type of every kind that the apiserver reads, as data. Source: k8s.io/api core/v1, coordination/v1, events/v1,
// rbac/v1, admissionregistration/v1 and authorization/v1.
import { eventsGroup } from "./event-versions.ts";
import { compileStruct, type GoStruct, metaTypes, type StructTables, typeMeta } from "./go-type.ts";

const nodeTypes: StructTables = {
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

const coreTypes: StructTables = {
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

const sharedTypes: StructTables = {
  ...metaTypes,
  "v1.EventSource": {
    "component?": "string",
    "host?": "string",
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
};

/** Of the core group. */
const eventTypes: StructTables = {
  ...sharedTypes,
  "v1.Event": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    involvedObject: "v1.ObjectReference",
    "reason?": "string",
    "message?": "string",
    source: "v1.EventSource",
    firstTimestamp: "v1.Time",
    lastTimestamp: "v1.Time",
    "count?": "int32",
    "type?": "string",
    eventTime: "v1.MicroTime",
    "series?": "*v1.EventSeries",
    "action?": "string",
    "related?": "*v1.ObjectReference",
    reportingComponent: "string",
    reportingInstance: "string",
  },
  "v1.EventSeries": {
    "count?": "int32",
    lastObservedTime: "v1.MicroTime",
  },
};

/** Of events.k8s.io. */
const eventsV1Types: StructTables = {
  ...sharedTypes,
  "v1.Event": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    eventTime: "v1.MicroTime",
    "series?": "*v1.EventSeries",
    "reportingController?": "string",
    "reportingInstance?": "string",
    "action?": "string",
    "reason?": "string",
    "regarding?": "v1.ObjectReference",
    "related?": "*v1.ObjectReference",
    "note?": "string",
    "type?": "string",
    "deprecatedSource?": "v1.EventSource",
    deprecatedFirstTimestamp: "v1.Time",
    deprecatedLastTimestamp: "v1.Time",
    "deprecatedCount?": "int32",
  },
  "v1.EventSeries": {
    count: "int32",
    lastObservedTime: "v1.MicroTime",
  },
};

const accessTypes: StructTables = {
  ...metaTypes,
  "v1.Role": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    rules: "[]v1.PolicyRule",
  },
  "v1.ClusterRole": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    rules: "[]v1.PolicyRule",
  },
  "v1.PolicyRule": {
    verbs: "[]string",
    "apiGroups?": "[]string",
    "resources?": "[]string",
    "resourceNames?": "[]string",
    "nonResourceURLs?": "[]string",
  },
  "v1.RoleBinding": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    "subjects?": "[]v1.Subject",
    roleRef: "v1.RoleRef",
  },
  "v1.ClusterRoleBinding": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    "subjects?": "[]v1.Subject",
    roleRef: "v1.RoleRef",
  },
  "v1.Subject": {
    kind: "string",
    "apiGroup?": "string",
    name: "string",
    "namespace?": "string",
  },
  "v1.RoleRef": {
    apiGroup: "string",
    kind: "string",
    name: "string",
  },
  "v1.ValidatingAdmissionPolicy": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.ValidatingAdmissionPolicySpec",
  },
  "v1.ValidatingAdmissionPolicySpec": {
    "paramKind?": "*v1.ParamKind",
    "matchConstraints?": "*v1.MatchResources",
    "validations?": "[]v1.Validation",
    "failurePolicy?": "*v1.FailurePolicyType",
    "auditAnnotations?": "[]v1.AuditAnnotation",
    "matchConditions?": "[]v1.MatchCondition",
    "variables?": "[]v1.Variable",
  },
  "v1.ParamKind": {
    "apiVersion?": "string",
    "kind?": "string",
  },
  "v1.Validation": {
    expression: "string",
    "message?": "string",
    "reason?": "*v1.StatusReason",
    "messageExpression?": "string",
  },
  "v1.Variable": {
    name: "string",
    expression: "string",
  },
  "v1.AuditAnnotation": {
    key: "string",
    valueExpression: "string",
  },
  "v1.MatchCondition": {
    name: "string",
    expression: "string",
  },
  "v1.MatchResources": {
    "namespaceSelector?": "*v1.LabelSelector",
    "objectSelector?": "*v1.LabelSelector",
    "resourceRules?": "[]v1.NamedRuleWithOperations",
    "excludeResourceRules?": "[]v1.NamedRuleWithOperations",
    "matchPolicy?": "*v1.MatchPolicyType",
  },
  "v1.NamedRuleWithOperations": {
    "resourceNames?": "[]string",
    "operations?": "[]v1.OperationType",
    "apiGroups?": "[]string",
    "apiVersions?": "[]string",
    "resources?": "[]string",
    "scope?": "*v1.ScopeType",
  },
  "v1.ValidatingAdmissionPolicyBinding": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.ValidatingAdmissionPolicyBindingSpec",
  },
  "v1.ValidatingAdmissionPolicyBindingSpec": {
    "policyName?": "string",
    "paramRef?": "*v1.ParamRef",
    "matchResources?": "*v1.MatchResources",
    "validationActions?": "[]v1.ValidationAction",
  },
  "v1.ParamRef": {
    "name?": "string",
    "namespace?": "string",
    "selector?": "*v1.LabelSelector",
    "parameterNotFoundAction?": "*v1.ParameterNotFoundActionType",
  },
  "v1.SubjectAccessReview": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.SubjectAccessReviewSpec",
    status: "v1.SubjectAccessReviewStatus",
  },
  "v1.SubjectAccessReviewSpec": {
    "resourceAttributes?": "*v1.ResourceAttributes",
    "nonResourceAttributes?": "*v1.NonResourceAttributes",
    "user?": "string",
    "groups?": "[]string",
  },
  "v1.SubjectAccessReviewStatus": {
    allowed: "bool",
    "reason?": "string",
  },
  "v1.ResourceAttributes": {
    "namespace?": "string",
    "verb?": "string",
    "group?": "string",
    "version?": "string",
    "resource?": "string",
    "subresource?": "string",
    "name?": "string",
  },
  "v1.NonResourceAttributes": {
    "path?": "string",
    "verb?": "string",
  },
};

/** A kind that two groups have is given with its group for the one that is not core. */
const sources: [tables: StructTables, ...kinds: string[]][] = [
  [nodeTypes, "Node"],
  [eventTypes, "Event"],
  [eventsV1Types, `Event.${eventsGroup}`],
  [coreTypes, "Namespace", "ServiceAccount", "Secret", "ConfigMap", "Service", "Pod", "Lease"],
  [accessTypes, "ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role"],
  [accessTypes, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "SubjectAccessReview"],
];

const goTypes = new Map<string, GoStruct>(
  sources.flatMap(([tables, ...kinds]) =>
    kinds.map((kind): [string, GoStruct] => [kind, compileStruct(`v1.${kind.split(".")[0]}`, tables)]),
  ),
);

/** The Go type of a kind; throws for one that has none, which a row of the resource table must have. */
export function goTypeOf({ group, kind }: { group: string; kind: string }): GoStruct {
  const type = goTypes.get(`${kind}.${group}`) ?? goTypes.get(kind);
  if (!type) throw new Error(`no Go type for ${kind}`);
  return type;
}
