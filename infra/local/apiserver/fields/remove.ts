// Takes fields out of an object. Mirrors structured-merge-diff's TypedValue.RemoveItems and
// Set.EnsureNamedFieldsAreMembers; pure.
import { isJsonObject, type Json, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { fieldElement, itemElement } from "./path-element.ts";
import { type FieldSchema, fieldOf, type ListFields, type MapFields } from "./schema.ts";
import { type FieldSet, isEmptySet, isMember, leaf, self } from "./set.ts";

function removeFromMap(object: JsonObject, fields: FieldSet, schema: MapFields): JsonObject | undefined {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(object)) {
    const removed = fields[fieldElement(name)];
    if (value === undefined || isMember(removed)) continue;
    const field = fieldOf(schema, name);
    const rest = removed && field ? removeBelow(value, removed, field) : value;
    result[name] = rest ?? null;
  }
  return Object.keys(result).length > 0 ? result : undefined;
}

function removeFromList(list: Json[], fields: FieldSet, schema: ListFields): Json[] | undefined {
  const result: Json[] = [];
  for (const item of list) {
    const element = itemElement(schema, item);
    const removed = element === undefined ? undefined : fields[element];
    if (isMember(removed)) continue;
    result.push(removed ? (removeBelow(item, removed, schema.item) ?? null) : item);
  }
  return result.length > 0 ? result : undefined;
}

function removeBelow(value: Json, fields: FieldSet, schema: FieldSchema): Json | undefined {
  if (schema.kind === "scalar") return value;
  if (schema.kind === "list") {
    if (schema.merge === "atomic" || !Array.isArray(value)) return undefined;
    return removeFromList(value, fields, schema);
  }
  return schema.atomic || !isJsonObject(value) ? undefined : removeFromMap(value, fields, schema);
}

/** The object without the fields; a map or list that has nothing left is null or, at the top, empty. */
export function removeFields(object: JsonObject, fields: FieldSet, schema: MapFields): JsonObject {
  return isEmptySet(fields) ? object : (removeFromMap(object, fields, schema) ?? {});
}

/** The schema of what an element names below a value of `schema`. */
function schemaBelow(schema: FieldSchema | undefined, element: string): FieldSchema | undefined {
  if (schema?.kind === "map" && element.startsWith("f:")) return fieldOf(schema, element.slice(2));
  return schema?.kind === "list" && element.startsWith("k:") ? schema.item : undefined;
}

/** The set, and every struct's field that has something of it below itself. */
export function withNamedFields(set: FieldSet, schema: FieldSchema | undefined): FieldSet {
  const result: FieldSet = {};
  for (const [element, below] of Object.entries(set)) {
    const isNamed = schema?.kind === "map" && element.startsWith("f:") && schema.fields.has(element.slice(2));
    const children = withNamedFields(below, schemaBelow(schema, element));
    result[element] =
      isNamed && !isEmptySet(children) && !(self in children) ? { [self]: leaf, ...children } : children;
  }
  return result;
}
