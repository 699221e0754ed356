// What RBAC objects may look like, and how they may change. Mirrors rbac/validation.
import { type Json, jsonEqual, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { pathSegmentErrors, subdomainErrors } from "./names.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";
import { validateCoreMetadata, validateCoreMetadataUpdate } from "./metadata-rules.ts";

const group = "rbac.authorization.k8s.io";

function validateRule(rule: JsonObject, namespaced: boolean, path: string): FieldError[] {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs: urls } = rule;
  const errors =
    listOf(verbs).length === 0
      ? [field.required(`${path}.verbs`, "verbs must contain at least one value")]
      : [];
  const urlPath = `${path}.nonResourceURLs`;
  if (listOf(urls).length > 0) {
    if (namespaced)
      errors.push(field.invalid(urlPath, urls, "namespaced rules cannot apply to non-resource URLs"));
    if ([apiGroups, resources, resourceNames].some((list) => listOf(list).length > 0)) {
      const detail = "rules cannot apply to both regular resources and non-resource URLs";
      errors.push(field.invalid(urlPath, urls, detail));
    }
    return errors;
  }
  if (listOf(apiGroups).length === 0)
    errors.push(field.required(`${path}.apiGroups`, "resource rules must supply at least one api group"));
  if (listOf(resources).length === 0)
    errors.push(field.required(`${path}.resources`, "resource rules must supply at least one resource"));
  return errors;
}

function validateRules(role: ApiObject, namespaced: boolean): FieldError[] {
  return listOf(role["rules"]).flatMap((rule, index) =>
    validateRule(fieldsOf(rule), namespaced, `rules[${index}]`),
  );
}

function isNamespaced({ kind }: ApiObject): boolean {
  return !kind.startsWith("Cluster");
}

/** ValidateRole and ValidateClusterRole */
export function validateRole(role: ApiObject): FieldError[] {
  const namespaced = isNamespaced(role);
  return [
    ...validateCoreMetadata(role.metadata, namespaced, pathSegmentErrors),
    ...validateRules(role, namespaced),
  ];
}

function validateSubject(subject: JsonObject, namespaced: boolean, path: string): FieldError[] {
  const [kind, name, apiGroup] = [
    textOf(subject["kind"]),
    textOf(subject["name"]),
    textOf(subject["apiGroup"]),
  ];
  const errors = name === "" ? [field.required(`${path}.name`)] : [];
  if (kind === "ServiceAccount") {
    if (name !== "") errors.push(...field.allInvalid(`${path}.name`, name, subdomainErrors(name)));
    if (apiGroup !== "") errors.push(field.notSupported(`${path}.apiGroup`, apiGroup, [""]));
    if (!namespaced && !textOf(subject["namespace"])) errors.push(field.required(`${path}.namespace`));
    return errors;
  }
  if (kind !== "User" && kind !== "Group") {
    const kinds = ["ServiceAccount", "User", "Group"];
    return [...errors, field.notSupported(`${path}.kind`, kind, kinds)];
  }
  if (apiGroup === group) return errors;
  return [...errors, field.notSupported(`${path}.apiGroup`, apiGroup, [group])];
}

function validateRoleRef(ref: JsonObject, namespaced: boolean): FieldError[] {
  const [apiGroup, kind, name] = [textOf(ref["apiGroup"]), textOf(ref["kind"]), textOf(ref["name"])];
  const kinds = namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  return [
    ...(apiGroup === group ? [] : [field.notSupported("roleRef.apiGroup", apiGroup, [group])]),
    ...(kinds.includes(kind) ? [] : [field.notSupported("roleRef.kind", kind, kinds)]),
    ...(name === ""
      ? [field.required("roleRef.name")]
      : field.allInvalid("roleRef.name", name, pathSegmentErrors(name))),
  ];
}

/** ValidateRoleBinding and ValidateClusterRoleBinding */
export function validateRoleBinding(binding: ApiObject): FieldError[] {
  const namespaced = isNamespaced(binding);
  return [
    ...validateCoreMetadata(binding.metadata, namespaced, pathSegmentErrors),
    ...validateRoleRef(fieldsOf(binding["roleRef"]), namespaced),
    ...listOf(binding["subjects"]).flatMap((subject, index) =>
      validateSubject(fieldsOf(subject), namespaced, `subjects[${index}]`),
    ),
  ];
}

/** Internal types have Go's names. */
function printedRef(ref: JsonObject): Json {
  return { APIGroup: textOf(ref["apiGroup"]), Kind: textOf(ref["kind"]), Name: textOf(ref["name"]) };
}

export function validateRoleBindingUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  const ref = fieldsOf(next["roleRef"]);
  return [
    ...validateRoleBinding(next),
    ...validateCoreMetadataUpdate(next.metadata, current.metadata),
    ...(jsonEqual(ref, fieldsOf(current["roleRef"]))
      ? []
      : [field.invalid("roleRef", printedRef(ref), "cannot change roleRef")]),
  ];
}
