// Fields and list merging of the kinds that only the apiserver handles. Data only.
// Source: k8s.io/api core/v1, rbac/v1 and admissionregistration/v1, their `patchStrategy` tags.
import { objectMeta, typeMeta } from "../../../../shared/kubernetes/patch/node-schema.ts";
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

/** Pods are listed, and there are none: nothing is ever merged into their spec. */
export const podSchema = struct("Pod", { ...typeMeta, metadata: objectMeta });

/** Never stored, and so never patched. */
export const accessReviewSchema = struct("SubjectAccessReview", { ...typeMeta, metadata: objectMeta });
