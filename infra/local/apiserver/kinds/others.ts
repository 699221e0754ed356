// What the apiserver does to namespaces, leases, service accounts, secrets, RBAC objects and admission policies beyond the generic.
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

/** namespaceStrategy.PrepareForCreate: the finalizer keeps the namespace until its contents are gone. */
export function prepareNamespaceForCreate(namespace: ApiObject): ApiObject {
  const sent = listOf(fieldsOf(namespace["spec"])["finalizers"]).map(textOf);
  const finalizers = sent.includes("kubernetes") ? sent : [...sent, "kubernetes"];
  return normaliseNamespace({ ...namespace, spec: { finalizers }, status: { phase: "Active" } });
}

/** namespaceStrategy.PrepareForUpdate: spec is only written through `finalize`. */
export function prepareNamespaceForUpdate(
  next: ApiObject,
  current: ApiObject,
  subresource: string,
): ApiObject {
  return subresource === "" ? { ...next, spec: current["spec"] } : next;
}

/** leaseStrategy: strategy and preferredHolder belong to coordinated leader election, which is off. */
export function prepareLease(lease: ApiObject): ApiObject {
  const { strategy, preferredHolder, ...spec } = fieldsOf(lease["spec"]);
  return strategy === undefined && preferredHolder === undefined ? lease : { ...lease, spec };
}

/** serviceAccountStrategy: of the secrets' references only the names are kept. */
export function prepareServiceAccount(account: ApiObject): ApiObject {
  if (account["secrets"] === undefined) return account;
  const secrets = listOf(account["secrets"]).map((reference) => {
    const { name } = fieldsOf(reference);
    return name === undefined ? {} : { name };
  });
  return { ...account, secrets };
}

const mountableSecretsAnnotation = "kubernetes.io/enforce-mountable-secrets";

export function warnOfServiceAccount(account: ApiObject, current?: ApiObject): string[] {
  const has = (object?: ApiObject) =>
    object?.metadata.annotations?.[mountableSecretsAnnotation] !== undefined;
  if (!has(account) || has(current)) return [];
  const advice = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets";
  return [`metadata.annotations[${mountableSecretsAnnotation}]: ${advice}`];
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** stringData is written into data and never read back (core/v1 conversion); a secret without a type is Opaque. */
export function normaliseSecret(secret: ApiObject): ApiObject {
  const { stringData, ...rest } = secret;
  const added = Object.entries(fieldsOf(stringData)).map(([key, value]) => [key, base64(textOf(value))]);
  const data = { ...fieldsOf(secret["data"]), ...Object.fromEntries(added) };
  return {
    ...rest,
    type: textOf(secret["type"]) || "Opaque",
    ...(Object.keys(data).length > 0 && { data }),
  };
}

/** What is stored tells an empty list of rules no longer from none. */
export function prepareRole(role: ApiObject): ApiObject {
  return listOf(role["rules"]).length === 0 ? { ...role, rules: null } : role;
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

/** The status of a new policy is the policy controller's to write. */
export function preparePolicyForCreate(policy: ApiObject): ApiObject {
  return { ...policy, status: {} };
}

/** metav1.ResetObjectMetaForStatus: a policy's status takes no metadata. */
export function preparePolicyForUpdate(next: ApiObject, current: ApiObject, subresource: string): ApiObject {
  if (subresource !== "status") return next;
  const { labels: _, annotations: __, finalizers: ___, ownerReferences: ____, ...rest } = next.metadata;
  const { labels, annotations, finalizers, ownerReferences } = current.metadata;
  return {
    ...next,
    metadata: {
      ...rest,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ...(ownerReferences && { ownerReferences }),
    },
  };
}
