// The Go structs of what is asked and never stored: reviews and token requests. Data only. Source: k8s.io/api
// authorization/v1 and authentication/v1.
import type { StructTables } from "./go-type.ts";
import { metaTypes, typeMeta } from "./meta-types.ts";

export const reviewTypes: StructTables = {
  ...metaTypes,
  "v1.SubjectAccessReview": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.SubjectAccessReviewSpec",
    status: "v1.SubjectAccessReviewStatus",
  },
  "v1.SelfSubjectAccessReview": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.SelfSubjectAccessReviewSpec",
    status: "v1.SubjectAccessReviewStatus",
  },
  "v1.LocalSubjectAccessReview": {
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
    "extra?": "map[string][]string",
    "uid?": "string",
  },
  "v1.SelfSubjectAccessReviewSpec": {
    "resourceAttributes?": "*v1.ResourceAttributes",
    "nonResourceAttributes?": "*v1.NonResourceAttributes",
  },
  "v1.SubjectAccessReviewStatus": {
    allowed: "bool",
    "denied?": "bool",
    "reason?": "string",
    "evaluationError?": "string",
  },
  "v1.ResourceAttributes": {
    "namespace?": "string",
    "verb?": "string",
    "group?": "string",
    "version?": "string",
    "resource?": "string",
    "subresource?": "string",
    "name?": "string",
    "fieldSelector?": "*v1.FieldSelectorAttributes",
    "labelSelector?": "*v1.LabelSelectorAttributes",
  },
  "v1.NonResourceAttributes": {
    "path?": "string",
    "verb?": "string",
  },
  "v1.LabelSelectorAttributes": {
    "rawSelector?": "string",
    "requirements?": "[]v1.LabelSelectorRequirement",
  },
  "v1.FieldSelectorAttributes": {
    "rawSelector?": "string",
    "requirements?": "[]v1.FieldSelectorRequirement",
  },
  "v1.SelfSubjectRulesReview": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.SelfSubjectRulesReviewSpec",
    status: "v1.SubjectRulesReviewStatus",
  },
  "v1.SelfSubjectRulesReviewSpec": {
    "namespace?": "string",
  },
  "v1.SubjectRulesReviewStatus": {
    resourceRules: "[]v1.ResourceRule",
    nonResourceRules: "[]v1.NonResourceRule",
    incomplete: "bool",
    "evaluationError?": "string",
  },
  "v1.ResourceRule": {
    verbs: "[]string",
    "apiGroups?": "[]string",
    "resources?": "[]string",
    "resourceNames?": "[]string",
  },
  "v1.NonResourceRule": {
    verbs: "[]string",
    "nonResourceURLs?": "[]string",
  },
  "v1.TokenReview": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.TokenReviewSpec",
    status: "v1.TokenReviewStatus",
  },
  "v1.TokenReviewSpec": {
    "token?": "string",
    "audiences?": "[]string",
  },
  "v1.TokenReviewStatus": {
    "authenticated?": "bool",
    user: "v1.UserInfo",
    "audiences?": "[]string",
    "error?": "string",
  },
  "v1.UserInfo": {
    "username?": "string",
    "uid?": "string",
    "groups?": "[]string",
    "extra?": "map[string][]string",
  },
  "v1.SelfSubjectReview": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    status: "v1.SelfSubjectReviewStatus",
  },
  "v1.SelfSubjectReviewStatus": {
    userInfo: "v1.UserInfo",
  },
  "v1.TokenRequest": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    spec: "v1.TokenRequestSpec",
    status: "v1.TokenRequestStatus",
  },
  "v1.TokenRequestSpec": {
    audiences: "[]string",
    expirationSeconds: "*int64",
    boundObjectRef: "*v1.BoundObjectReference",
  },
  "v1.TokenRequestStatus": {
    token: "string",
    expirationTimestamp: "v1.Time",
  },
  "v1.BoundObjectReference": {
    "kind?": "string",
    "apiVersion?": "string",
    "name?": "string",
    "uid?": "types.UID",
  },
  "v1.FieldSelectorRequirement": {
    key: "string",
    operator: "v1.FieldSelectorOperator",
    "values?": "[]string",
  },
};
