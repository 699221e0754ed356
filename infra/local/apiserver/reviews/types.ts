// The resources that answer a question and store nothing: rows of the resource table. Data only.
import { objectMeta, typeMeta } from "../../../../shared/kubernetes/patch/node-schema.ts";
import {
  atomicList,
  map,
  scalars,
  type StructSchema,
  struct,
} from "../../../../shared/kubernetes/patch/schema.ts";
import type { ResourceType } from "../resource-type.ts";

const selector = struct("SelectorAttributes", { ...scalars("rawSelector"), requirements: atomicList });
const accessSpec = struct("SubjectAccessReviewSpec", {
  ...scalars("user", "uid"),
  groups: atomicList,
  extra: map,
  resourceAttributes: struct("ResourceAttributes", {
    ...scalars("namespace", "verb", "group", "version", "resource", "subresource", "name"),
    fieldSelector: selector,
    labelSelector: selector,
  }),
  nonResourceAttributes: struct("NonResourceAttributes", scalars("path", "verb")),
});

function review(
  group: string,
  kind: string,
  spec: StructSchema,
  { namespaced = false }: { namespaced?: boolean } = {},
): ResourceType {
  const singular = kind.toLowerCase();
  return {
    group,
    version: "v1",
    resource: `${singular}s`,
    singular,
    kind,
    namespaced,
    verbs: ["create"],
    schema: struct(kind, { ...typeMeta, metadata: objectMeta, spec }),
  };
}

const authorization = "authorization.k8s.io";
const authentication = "authentication.k8s.io";

export const reviewTypes: ResourceType[] = [
  review(authorization, "LocalSubjectAccessReview", accessSpec, { namespaced: true }),
  review(authorization, "SelfSubjectAccessReview", accessSpec),
  review(authorization, "SelfSubjectRulesReview", struct("SelfSubjectRulesReviewSpec", scalars("namespace"))),
  review(authorization, "SubjectAccessReview", accessSpec),
  review(authentication, "SelfSubjectReview", struct("SelfSubjectReviewSpec", {})),
  review(
    authentication,
    "TokenReview",
    struct("TokenReviewSpec", { ...scalars("token"), audiences: atomicList }),
  ),
];
