// Selects the objects of a list, watch or deletecollection by its options.
import { failure, success } from "../../../../shared/result.ts";
import { matchesLabels } from "../../../../shared/kubernetes/label-match.ts";
import { type LabelRequirement, parseLabelSelector } from "../../../../shared/kubernetes/label-selector.ts";
import { type FieldTerm, matchesFields, parseFieldSelector, requiredName } from "./selectors.ts";
import { type ListOptions, listOptions } from "./list-options.ts";
import type { ApiObject, Outcome } from "../object.ts";
import type { RequestInfo } from "../request-info.ts";
import type { ResourceType } from "../resource-type.ts";
import { badRequest } from "../status.ts";

function selectableFields(type: ResourceType, object: ApiObject): Record<string, string> {
  const { name = "", namespace = "" } = object.metadata;
  return { "metadata.name": name, "metadata.namespace": namespace, ...type.selectableFields?.(object) };
}

/** An object without fields, for the names of the fields that a selector may use. */
const nothing: ApiObject = { kind: "", apiVersion: "", metadata: {} };

function unknownField(type: ResourceType, terms: FieldTerm[]): string | undefined {
  const known = selectableFields(type, nothing);
  return terms.find(({ field }) => !Object.hasOwn(known, field))?.field;
}

/** Adds the name in a watch's path to the terms. undefined: the selector requires another name. Mirrors listOpts. */
function withName(terms: FieldTerm[], name: string): FieldTerm[] | undefined {
  if (name === "") return terms;
  if (terms.length === 0) return [{ field: "metadata.name", equal: true, value: name }];
  return requiredName(terms) === name ? terms : undefined;
}

function matcher(
  type: ResourceType,
  namespace: string,
  labels: LabelRequirement[],
  terms: FieldTerm[],
): (object: ApiObject) => boolean {
  const hasNamespace = namespace !== "" && type.namespaced;
  return (object) => {
    const { metadata } = object;
    if (hasNamespace && metadata.namespace !== namespace) return false;
    if (!matchesLabels(labels, metadata.labels ?? {})) return false;
    return terms.length === 0 || matchesFields(terms, selectableFields(type, object));
  };
}

/** The options and the selection of a list, watch or deletecollection. Mirrors handlers.listOpts. */
export interface Asked {
  options: ListOptions;
  matches: (object: ApiObject) => boolean;
  /** true if the request has neither a label selector nor a field selector. */
  isEverything: boolean;
}

export function readListRequest(
  type: ResourceType,
  info: RequestInfo,
  query: URLSearchParams,
): Outcome<Asked> {
  const read = listOptions(query, info.verb === "watch");
  if (!read.ok) return read;
  const options = read.value;
  const labels = parseLabelSelector(options.labelSelector);
  if (!labels.ok) return failure(badRequest(`unable to parse requirement: ${labels.error}`));
  const fields = parseFieldSelector(options.fieldSelector);
  if (!fields) return failure(badRequest(`invalid field selector: ${options.fieldSelector}`));
  const unknown = unknownField(type, fields);
  if (unknown !== undefined) return failure(badRequest(`field label not supported: ${unknown}`));
  const terms = withName(fields, info.name);
  if (!terms) return failure(badRequest("fieldSelector metadata.name doesn't match requested name"));
  const isEverything = labels.value.length === 0 && terms.length === 0;
  return success({ options, matches: matcher(type, info.namespace, labels.value, terms), isEverything });
}
