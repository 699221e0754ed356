// Fields and list merging of the kinds that only the apiserver handles. Data only.
// Source: k8s.io/api core/v1, events/v1, rbac/v1 and admissionregistration/v1, their `patchStrategy` tags.
import { objectMeta, typeMeta } from "../../../../shared/kubernetes/patch/node-schema.ts";
import {
  eventSeries,
  eventSource,
  objectReference,
} from "../../../../shared/kubernetes/patch/object-schemas.ts";
import { atomicList, keyedList, map, scalars, struct } from "../../../../shared/kubernetes/patch/schema.ts";

export const serviceAccountSchema = struct("ServiceAccount", {
  ...typeMeta,
  ...scalars("automountServiceAccountToken"),
  metadata: objectMeta,
  secrets: keyedList(
    "name",
    struct(
      "ObjectReference",
      scalars("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"),
    ),
  ),
  imagePullSecrets: atomicList,
});

export const secretSchema = struct("Secret", {
  ...typeMeta,
  ...scalars("immutable", "type"),
  metadata: objectMeta,
  data: map,
});

export const configMapSchema = struct("ConfigMap", {
  ...typeMeta,
  ...scalars("immutable"),
  metadata: objectMeta,
  data: map,
  binaryData: map,
});

/** Role and ClusterRole. */
export const roleSchema = struct("Role", { ...typeMeta, metadata: objectMeta, rules: atomicList });

/** RoleBinding and ClusterRoleBinding. */
export const roleBindingSchema = struct("RoleBinding", {
  ...typeMeta,
  metadata: objectMeta,
  subjects: atomicList,
  roleRef: struct("RoleRef", scalars("apiGroup", "kind", "name")),
});

const labelSelector = struct("LabelSelector", { matchLabels: map, matchExpressions: atomicList });
const matchResources = struct("MatchResources", {
  ...scalars("matchPolicy"),
  namespaceSelector: labelSelector,
  objectSelector: labelSelector,
  resourceRules: atomicList,
  excludeResourceRules: atomicList,
});
const namedExpression = scalars("name", "expression");

export const validatingAdmissionPolicySchema = struct("ValidatingAdmissionPolicy", {
  ...typeMeta,
  metadata: objectMeta,
  spec: struct("ValidatingAdmissionPolicySpec", {
    ...scalars("failurePolicy"),
    paramKind: struct("ParamKind", scalars("apiVersion", "kind")),
    matchConstraints: matchResources,
    validations: atomicList,
    auditAnnotations: atomicList,
    matchConditions: keyedList("name", struct("MatchCondition", namedExpression)),
    variables: keyedList("name", struct("Variable", namedExpression)),
  }),
});

export const validatingAdmissionPolicyBindingSchema = struct("ValidatingAdmissionPolicyBinding", {
  ...typeMeta,
  metadata: objectMeta,
  spec: struct("ValidatingAdmissionPolicyBindingSpec", {
    ...scalars("policyName"),
    paramRef: struct("ParamRef", {
      ...scalars("name", "namespace", "parameterNotFoundAction"),
      selector: labelSelector,
    }),
    matchResources,
    validationActions: atomicList,
  }),
});

/** The only Service, which is read-only. */
export const serviceSchema = struct("Service", { ...typeMeta, metadata: objectMeta });

/** Pods are listed, and there are none: nothing is ever merged into their spec. */
export const podSchema = struct("Pod", { ...typeMeta, metadata: objectMeta });

/** Never stored, and so never patched. */
export const accessReviewSchema = struct("SubjectAccessReview", { ...typeMeta, metadata: objectMeta });

/** events.k8s.io/v1 */
export const eventsV1Schema = struct("Event", {
  ...typeMeta,
  ...scalars("eventTime", "reportingController", "reportingInstance", "action", "reason", "note", "type"),
  ...scalars("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount"),
  metadata: objectMeta,
  series: eventSeries,
  regarding: objectReference,
  related: objectReference,
  deprecatedSource: eventSource,
});

export const namespaceSchema = struct("Namespace", {
  ...typeMeta,
  metadata: objectMeta,
  spec: struct("NamespaceSpec", { finalizers: atomicList }),
  status: struct("NamespaceStatus", {
    ...scalars("phase"),
    conditions: keyedList(
      "type",
      struct("NamespaceCondition", scalars("type", "status", "lastTransitionTime", "reason", "message")),
    ),
  }),
});
