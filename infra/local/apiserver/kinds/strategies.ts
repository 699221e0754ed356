// Defines rules of single kinds: default fields, fields that a create adds, and fields that a fieldSelector may name.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { type ApiObject, fieldsOf, listOf, textAt, textOf, valueAt } from "../object.ts";
import { selectorOf, withCoreNames } from "./event-versions.ts";

/** Sets allocatable to the capacity, unless the client sent allocatable, even empty. Mirrors SetDefaults_NodeStatus. */
function normaliseStatus(status: JsonObject, sent: JsonObject): JsonObject {
  const { capacity, allocatable } = status;
  const isSaid = allocatable !== undefined || isJsonObject(valueAt(sent, "status.allocatable"));
  return isSaid || capacity === undefined ? status : { ...status, allocatable: capacity };
}

/** Fills podCIDR from podCIDRs and the reverse, like upstream's internal type, which has only podCIDRs. */
function normaliseSpec(spec: JsonObject): JsonObject {
  const { podCIDR, podCIDRs, ...rest } = spec;
  if (podCIDR === undefined && podCIDRs === undefined) return spec;
  const list = podCIDR === undefined || listOf(podCIDRs)[0] === podCIDR ? listOf(podCIDRs) : [podCIDR];
  return { ...rest, ...(list[0] && { podCIDR: list[0] }), podCIDRs: list };
}

/** Sets a Node's defaults. Returns the passed object if nothing changes. */
export function normaliseNode(node: ApiObject, sent: JsonObject): ApiObject {
  const [spec, status] = [fieldsOf(node["spec"]), fieldsOf(node["status"])];
  const [newSpec, newStatus] = [normaliseSpec(spec), normaliseStatus(status, sent)];
  return newSpec === spec && newStatus === status ? node : { ...node, spec: newSpec, status: newStatus };
}

const notReadyTaint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

/** Adds the taint `not-ready` to a new Node, like the admission plugin TaintNodesByCondition. */
export function prepareNodeForCreate(node: ApiObject): ApiObject {
  const spec = fieldsOf(node["spec"]);
  const taints = listOf(spec["taints"]).map(fieldsOf);
  const isTainted = taints.some(
    ({ key, effect }) => key === notReadyTaint.key && effect === notReadyTaint.effect,
  );
  return isTainted ? node : { ...node, spec: { ...spec, taints: [...taints, notReadyTaint] } };
}

/** Labels a namespace with its name. Mirrors SetDefaults_Namespace. */
export function normaliseNamespace(namespace: ApiObject): ApiObject {
  const { name } = namespace.metadata;
  const labels = { ...namespace.metadata.labels, ...(name && { "kubernetes.io/metadata.name": name }) };
  return {
    ...namespace,
    metadata: { ...namespace.metadata, labels },
    status: { phase: "Active", ...fieldsOf(namespace["status"]) },
  };
}

/** Sets the finalizer and an empty status of a new namespace. Mirrors namespaceStrategy.PrepareForCreate. */
export function prepareNamespaceForCreate(namespace: ApiObject): ApiObject {
  return normaliseNamespace({ ...namespace, spec: { finalizers: ["kubernetes"] }, status: {} });
}

/** Sets the default type of a Secret. Mirrors SetDefaults_Secret. */
export function normaliseSecret(secret: ApiObject): ApiObject {
  return { ...secret, type: textOf(secret["type"]) || "Opaque" };
}

const rbacGroup = "rbac.authorization.k8s.io";

/** Sets the API group of a user or group in a binding. Mirrors SetDefaults_Subject. */
function normaliseSubject(subject: JsonObject): JsonObject {
  const hasGroup = subject["kind"] === "User" || subject["kind"] === "Group";
  return hasGroup ? { ...subject, apiGroup: textOf(subject["apiGroup"]) || rbacGroup } : subject;
}

/** Sets the defaults of a binding. Mirrors SetDefaults_RoleBinding and SetDefaults_ClusterRoleBinding. */
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

/** Returns a function that sets the defaults of an object's spec, and of the match resources in its field `match`. */
function normaliseMatchIn(match: string, defaults: JsonObject = {}): (object: ApiObject) => ApiObject {
  return (object) => {
    const spec = { ...defaults, ...fieldsOf(object["spec"]) };
    if (spec[match] === undefined) return { ...object, spec };
    return { ...object, spec: { ...spec, [match]: normaliseMatchResources(fieldsOf(spec[match])) } };
  };
}

/** Sets the defaults of an admission policy. Mirrors admissionregistration/v1. */
export const normalisePolicy = normaliseMatchIn("matchConstraints", { failurePolicy: "Fail" });
export const normalisePolicyBinding = normaliseMatchIn("matchResources");

export function selectableEventFields(event: ApiObject): Record<string, string> {
  const involved = fieldsOf(event["involvedObject"]);
  const fields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
  return {
    ...Object.fromEntries(fields.map((field) => [`involvedObject.${field}`, textOf(involved[field])])),
    reason: textOf(event["reason"]),
    reportingComponent: textOf(event["reportingComponent"]),
    source: textAt(event, "source.component") || textOf(event["reportingComponent"]),
    type: textOf(event["type"]),
  };
}

/** Returns the fields of an event that a fieldSelector may name in events.k8s.io. The source is not one of them. */
export function selectableEventsV1Fields(event: ApiObject): Record<string, string> {
  const { source: _, ...fields } = selectableEventFields(withCoreNames(event));
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [selectorOf(field), value]));
}

export function selectableNodeFields(node: ApiObject): Record<string, string> {
  return { "spec.unschedulable": String(valueAt(node, "spec.unschedulable") === true) };
}
