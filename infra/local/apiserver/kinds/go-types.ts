// Lists the Go types of all kinds that the apiserver reads. Source: k8s.io/api core/v1, coordination/v1, events/v1,
// rbac/v1, admissionregistration/v1 and authorization/v1, and apimachinery's meta/v1.
import { eventsGroup } from "./event-versions.ts";
import { compileStruct, type GoStruct, type StructTables } from "./go-type.ts";

/** The first fields of every kind: metav1.TypeMeta and ObjectMeta. */
const object = "kind?, apiVersion?, metadata v1.ObjectMeta";

const types: StructTables = {
  "v1.OwnerReference": "apiVersion, kind, name, uid types.UID, controller? *bool, blockOwnerDeletion? *bool",
  "v1.ManagedFieldsEntry": `
    manager?, operation? v1.ManagedFieldsOperationType, apiVersion?, time? *v1.Time, fieldsType?,
    fieldsV1? *v1.FieldsV1, subresource?`,
  "v1.ObjectMeta": `
    name?, generateName?, namespace?, selfLink?, uid? types.UID, resourceVersion?, generation? int64,
    creationTimestamp? v1.Time, deletionTimestamp? *v1.Time, deletionGracePeriodSeconds? *int64,
    labels? map[string]string, annotations? map[string]string, ownerReferences? []v1.OwnerReference,
    finalizers? []string, managedFields? []v1.ManagedFieldsEntry`,
  "v1.LabelSelector": "matchLabels? map[string]string, matchExpressions? []v1.LabelSelectorRequirement",
  "v1.LabelSelectorRequirement": "key, operator v1.LabelSelectorOperator, values? []string",
  "v1.Node": `${object}, spec v1.NodeSpec, status v1.NodeStatus`,
  "v1.NodeSpec": `
    podCIDR?, podCIDRs? []string, providerID?, unschedulable? bool, taints? []v1.Taint, externalID?`,
  "v1.NodeStatus": `
    capacity? map[v1.ResourceName]resource.Quantity, allocatable? map[v1.ResourceName]resource.Quantity,
    phase? v1.NodePhase, conditions? []v1.NodeCondition, addresses? []v1.NodeAddress,
    daemonEndpoints v1.NodeDaemonEndpoints, nodeInfo v1.NodeSystemInfo, images? []v1.ContainerImage,
    volumesInUse? []v1.UniqueVolumeName, volumesAttached? []v1.AttachedVolume,
    runtimeHandlers? []v1.NodeRuntimeHandler, features? *v1.NodeFeatures, declaredFeatures? []string`,
  "v1.Taint": "key, value?, effect v1.TaintEffect, timeAdded? *v1.Time",
  "v1.NodeCondition": `
    type v1.NodeConditionType, status v1.ConditionStatus, lastHeartbeatTime v1.Time,
    lastTransitionTime v1.Time, reason?, message?`,
  "v1.NodeAddress": "type v1.NodeAddressType, address",
  "v1.NodeSystemInfo": `
    machineID, systemUUID, bootID, kernelVersion, osImage, containerRuntimeVersion, kubeletVersion,
    kubeProxyVersion, operatingSystem, architecture, swap? *v1.NodeSwapStatus`,
  "v1.NodeSwapStatus": "capacity? *int64",
  "v1.NodeDaemonEndpoints": "kubeletEndpoint v1.DaemonEndpoint",
  "v1.DaemonEndpoint": "Port int32",
  "v1.ContainerImage": "names []string, sizeBytes? int64",
  "v1.AttachedVolume": "name v1.UniqueVolumeName, devicePath",
  "v1.NodeRuntimeHandler": "name, features? *v1.NodeRuntimeHandlerFeatures",
  "v1.NodeRuntimeHandlerFeatures": "recursiveReadOnlyMounts? *bool, userNamespaces? *bool",
  "v1.NodeFeatures": "supplementalGroupsPolicy? *bool",
  "v1.Namespace": `${object}, spec v1.NamespaceSpec, status v1.NamespaceStatus`,
  "v1.NamespaceSpec": "finalizers? []v1.FinalizerName",
  "v1.NamespaceStatus": "phase? v1.NamespacePhase, conditions? []v1.NamespaceCondition",
  "v1.NamespaceCondition": `
    type v1.NamespaceConditionType, status v1.ConditionStatus, lastTransitionTime? v1.Time, reason?,
    message?`,
  "v1.ServiceAccount": `
    ${object}, secrets? []v1.ObjectReference, imagePullSecrets? []v1.LocalObjectReference,
    automountServiceAccountToken? *bool`,
  // Go decodes the values of `data` to bytes. This apiserver stores their base64 as the client sent it.
  "v1.Secret": `${object}, immutable? *bool, data? map[string]string, type? v1.SecretType`,
  "v1.ConfigMap": `${object}, immutable? *bool, data? map[string]string, binaryData? map[string]string`,
  // The type has only the fields that the Service `kubernetes` uses.
  "v1.Service": `${object}, spec v1.ServiceSpec, status v1.ServiceStatus`,
  "v1.ServiceSpec": `
    ports? []v1.ServicePort, clusterIP?, clusterIPs? []string, type? v1.ServiceType,
    sessionAffinity? v1.ServiceAffinity, ipFamilies? []v1.IPFamily, ipFamilyPolicy? *v1.IPFamilyPolicy,
    internalTrafficPolicy? *v1.ServiceInternalTrafficPolicy`,
  "v1.ServicePort": "name?, protocol? v1.Protocol, port int32, targetPort int32",
  "v1.ServiceStatus": "loadBalancer v1.LoadBalancerStatus",
  "v1.LoadBalancerStatus": "",
  "v1.LocalObjectReference": "name?",
  "v1.Lease": `${object}, spec v1.LeaseSpec`,
  "v1.LeaseSpec": `
    holderIdentity? *string, leaseDurationSeconds? *int32, acquireTime? *v1.MicroTime,
    renewTime? *v1.MicroTime, leaseTransitions? *int32`,
  "v1.Pod": object,
  "v1.EventSource": "component?, host?",
  "v1.ObjectReference": "kind?, namespace?, name?, uid? types.UID, apiVersion?, resourceVersion?, fieldPath?",
  "v1.Event": `
    ${object}, involvedObject v1.ObjectReference, reason?, message?, source v1.EventSource,
    firstTimestamp v1.Time, lastTimestamp v1.Time, count? int32, type?, eventTime v1.MicroTime,
    series? *v1.EventSeries, action?, related? *v1.ObjectReference, reportingComponent, reportingInstance`,
  "v1.EventSeries": "count? int32, lastObservedTime v1.MicroTime",
  "v1.Role": `${object}, rules []v1.PolicyRule`,
  "v1.ClusterRole": `${object}, rules []v1.PolicyRule`,
  "v1.PolicyRule": `
    verbs []string, apiGroups? []string, resources? []string, resourceNames? []string,
    nonResourceURLs? []string`,
  "v1.RoleBinding": `${object}, subjects? []v1.Subject, roleRef v1.RoleRef`,
  "v1.ClusterRoleBinding": `${object}, subjects? []v1.Subject, roleRef v1.RoleRef`,
  "v1.Subject": "kind, apiGroup?, name, namespace?",
  "v1.RoleRef": "apiGroup, kind, name",
  "v1.ValidatingAdmissionPolicy": `${object}, spec v1.ValidatingAdmissionPolicySpec`,
  "v1.ValidatingAdmissionPolicySpec": `
    paramKind? *v1.ParamKind, matchConstraints? *v1.MatchResources, validations? []v1.Validation,
    failurePolicy? *v1.FailurePolicyType, auditAnnotations? []v1.AuditAnnotation,
    matchConditions? []v1.MatchCondition, variables? []v1.Variable`,
  "v1.ParamKind": "apiVersion?, kind?",
  "v1.Validation": "expression, message?, reason? *v1.StatusReason, messageExpression?",
  "v1.Variable": "name, expression",
  "v1.AuditAnnotation": "key, valueExpression",
  "v1.MatchCondition": "name, expression",
  "v1.MatchResources": `
    namespaceSelector? *v1.LabelSelector, objectSelector? *v1.LabelSelector,
    resourceRules? []v1.NamedRuleWithOperations, excludeResourceRules? []v1.NamedRuleWithOperations,
    matchPolicy? *v1.MatchPolicyType`,
  "v1.NamedRuleWithOperations": `
    resourceNames? []string, operations? []v1.OperationType, apiGroups? []string, apiVersions? []string,
    resources? []string, scope? *v1.ScopeType`,
  "v1.ValidatingAdmissionPolicyBinding": `${object}, spec v1.ValidatingAdmissionPolicyBindingSpec`,
  "v1.ValidatingAdmissionPolicyBindingSpec": `
    policyName?, paramRef? *v1.ParamRef, matchResources? *v1.MatchResources,
    validationActions? []v1.ValidationAction`,
  "v1.ParamRef": `
    name?, namespace?, selector? *v1.LabelSelector, parameterNotFoundAction? *v1.ParameterNotFoundActionType`,
  "v1.SubjectAccessReview": `${object}, spec v1.SubjectAccessReviewSpec, status v1.SubjectAccessReviewStatus`,
  "v1.SubjectAccessReviewSpec": `
    resourceAttributes? *v1.ResourceAttributes, nonResourceAttributes? *v1.NonResourceAttributes, user?,
    groups? []string`,
  "v1.SubjectAccessReviewStatus": "allowed bool, reason?",
  "v1.ResourceAttributes": "namespace?, verb?, group?, version?, resource?, subresource?, name?",
  "v1.NonResourceAttributes": "path?, verb?",
};

/** The Go types of events.k8s.io, whose Event has other fields than the core group's. */
const eventsV1Types: StructTables = {
  ...types,
  "v1.Event": `
    ${object}, eventTime v1.MicroTime, series? *v1.EventSeries, reportingController?, reportingInstance?,
    action?, reason?, regarding? v1.ObjectReference, related? *v1.ObjectReference, note?, type?,
    deprecatedSource? v1.EventSource, deprecatedFirstTimestamp v1.Time, deprecatedLastTimestamp v1.Time,
    deprecatedCount? int32`,
  "v1.EventSeries": "count int32, lastObservedTime v1.MicroTime",
};

const kinds = Object.keys(types).filter((name) => types[name]?.trimStart().startsWith(object));
const goTypes = new Map<string, GoStruct>([
  ...kinds.map((name) => [name.slice("v1.".length), compileStruct(name, types)] as const),
  [`Event.${eventsGroup}`, compileStruct("v1.Event", eventsV1Types)],
]);

/** Returns the Go type of a kind. Throws if the table has none, because each resource needs a Go type. */
export function goTypeOf({ group, kind }: { group: string; kind: string }): GoStruct {
  const type = goTypes.get(`${kind}.${group}`) ?? goTypes.get(kind);
  if (!type) throw new Error(`no Go type for ${kind}`);
  return type;
}

export const objectMetaType = compileStruct("v1.ObjectMeta", types);
