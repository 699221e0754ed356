// What the apiserver does to namespaces, secrets, RBAC objects and admission policies beyond the generic.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";

/** SetDefaults_Namespace labels a namespace with its name. */
export function normaliseNamespace(namespace: ApiObject): ApiObject {
  const name = namespace.metadata.name ?? "";
  const labels = {
    ...namespace.metadata.labels,
    ...(name !== "" && { "kubernetes.io/metadata.name": name }),
  };
  return {
    ...namespace,
    metadata: { ...namespace.metadata, labels },
    status: { phase: "Active", ...fieldsOf(namespace["status"]) },
  };
}

/** namespaceStrategy.PrepareForCreate */
export function prepareNamespaceForCreate(namespace: ApiObject): ApiObject {
  return normaliseNamespace({ ...namespace, spec: { finalizers: ["kubernetes"] }, status: {} });
}

/** SetDefaults_Secret */
export function normaliseSecret(secret: ApiObject): ApiObject {
  return { ...secret, type: textOf(secret["type"]) || "Opaque" };
}

const rbacGroup = "rbac.authorization.k8s.io";

/** SetDefaults_Subject */
function normaliseSubject(subject: JsonObject): JsonObject {
  const hasGroup = subject["kind"] === "User" || subject["kind"] === "Group";
  return hasGroup ? { ...subject, apiGroup: textOf(subject["apiGroup"]) || rbacGroup } : subject;
}

/** SetDefaults_RoleBinding and SetDefaults_ClusterRoleBinding. */
export function normaliseRoleBinding(binding: ApiObject): ApiObject {
  const subjects = listOf(binding["subjects"]).map(fieldsOf).map(normaliseSubject);
  const roleRef = fieldsOf(binding["roleRef"]);
  return {
    ...binding,
    ...(subjects.length > 0 && { subjects }),
    roleRef: { ...roleRef, apiGroup: textOf(roleRef["apiGroup"]) || rbacGroup },
  };
}

function normaliseMatchResources(match: JsonObject): JsonObject {
  const rules = (field: string) => {
    const list = listOf(match[field]).map((rule) => ({ scope: "*", ...fieldsOf(rule) }));
    return list.length > 0 ? { [field]: list } : {};
  };
  return {
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    ...match,
    ...rules("resourceRules"),
    ...rules("excludeResourceRules"),
  };
}

/** admissionregistration/v1 defaults. */
export function normalisePolicy(policy: ApiObject): ApiObject {
  const spec = fieldsOf(policy["spec"]);
  const matchConstraints = spec["matchConstraints"];
  return {
    ...policy,
    spec: {
      failurePolicy: "Fail",
      ...spec,
      ...(matchConstraints !== undefined && {
        matchConstraints: normaliseMatchResources(fieldsOf(matchConstraints)),
      }),
    },
  };
}

export function normalisePolicyBinding(binding: ApiObject): ApiObject {
  const spec = fieldsOf(binding["spec"]);
  const matchResources = spec["matchResources"];
  return {
    ...binding,
    spec: {
      ...spec,
      ...(matchResources !== undefined && {
        matchResources: normaliseMatchResources(fieldsOf(matchResources)),
      }),
    },
  };
}
