// Which objects a list, a watch or a deletecollection is about: its options → a predicate. Reads no store.
import { type FieldTerm, matchesFields, parseFieldSelector, requiredName } from "./field-selector.ts";
import { type LabelSelector, parseLabelSelector } from "./label-selector.ts";
import { type ListOptions, listOptions } from "./list-options.ts";
import type { ApiObject, Outcome } from "./object.ts";
import type { RequestInfo } from "./request-info.ts";
import type { ResourceType } from "./resource-type.ts";
import { badRequest } from "./status.ts";

export interface Selection {
  matches: (object: ApiObject) => boolean;
  /** Everything of the resource, or of one namespace: no selector and no name. */
  isEmpty: boolean;
}

function selectableFields(type: ResourceType, object: ApiObject): Record<string, string> {
  const { name = "", namespace = "" } = object.metadata;
  return {
    "metadata.name": name,
    ...(type.namespaced && { "metadata.namespace": namespace }),
    ...type.selectableFields?.(object),
  };
}

/** An object without any field, to know the names of what can be selected. */
const nothing: ApiObject = { kind: "", apiVersion: "", metadata: {} };

/** The conversion of field labels: kinds that have one of their own know their fields, the others two. */
function unknownField(type: ResourceType, terms: FieldTerm[]): string | undefined {
  const always = type.selectableFields ? [] : ["metadata.namespace"];
  const known = new Set([...always, ...Object.keys(selectableFields(type, nothing))]);
  const unknown = terms.find(({ field }) => !known.has(field))?.field;
  if (unknown === undefined || type.selectableFields) {
    return unknown === undefined ? undefined : `field label not supported: ${unknown}`;
  }
  return `${JSON.stringify(unknown)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

/** A name in the path of a watch is one more term, and must not contradict the selector (handlers.listOpts). */
function withName(terms: FieldTerm[], name: string): FieldTerm[] | undefined {
  if (name === "") return terms;
  if (terms.length === 0) return [{ field: "metadata.name", equal: true, value: name }];
  return requiredName(terms) === name ? terms : undefined;
}

function predicate(
  type: ResourceType,
  namespace: string,
  labels: Exclude<LabelSelector, { error: string }>,
  terms: FieldTerm[],
): (object: ApiObject) => boolean {
  const hasNamespace = namespace !== "" && type.namespaced;
  const onlyName = terms.length === 1 && terms[0]?.equal && terms[0].field === "metadata.name";
  const name = terms[0]?.value;
  return (object) => {
    const { metadata } = object;
    if (hasNamespace && metadata.namespace !== namespace) return false;
    if (onlyName ? metadata.name !== name : false) return false;
    if (!labels.isEmpty && !labels.matches(metadata.labels ?? {})) return false;
    return onlyName || terms.length === 0 || matchesFields(terms, selectableFields(type, object));
  };
}

function selectionOf(type: ResourceType, info: RequestInfo, options: ListOptions): Outcome<Selection> {
  const labels = parseLabelSelector(options.labelSelector);
  if ("error" in labels) return { refused: badRequest(labels.error) };
  const fields = parseFieldSelector(options.fieldSelector);
  if ("error" in fields) return { refused: badRequest(fields.error) };
  const unknown = unknownField(type, fields.terms);
  if (unknown !== undefined) return { refused: badRequest(unknown) };
  const terms = withName(fields.terms, info.name);
  if (!terms) {
    return { refused: badRequest("fieldSelector metadata.name doesn't match requested name") };
  }
  return {
    ok: {
      matches: predicate(type, info.namespace, labels, terms),
      isEmpty: labels.isEmpty && terms.length === 0,
    },
  };
}

/** What a list, watch or deletecollection asks for (handlers.listOpts). */
export interface Asked {
  options: ListOptions;
  selection: Selection;
}

export function readListRequest(
  type: ResourceType,
  info: RequestInfo,
  query: URLSearchParams,
): Outcome<Asked> {
  const options = listOptions(query, info.verb);
  if ("refused" in options) return options;
  const selection = selectionOf(type, info, options.ok);
  return "refused" in selection ? selection : { ok: { options: options.ok, selection: selection.ok } };
}
