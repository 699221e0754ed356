// The Go structs of RBAC objects, admission policies and access reviews. Data only. Source: k8s.io/api rbac/v1,
// admissionregistration/v1 and authorization/v1.
import type { StructTables } from "./go-type.ts";
import { metaTypes, typeMeta } from "./meta-types.ts";

export const accessTypes: StructTables = {
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
