// The set of all fields that an object has. Mirrors structured-merge-diff's TypedValue.ToFieldSet; pure.
import { isJsonObject, type Json, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { fieldElement, itemElement } from "./path-element.ts";
import { type FieldSchema, fieldOf, type ListFields, type MapFields } from "./schema.ts";
import { type FieldSet, isEmptySet, leaf, self } from "./set.ts";

/** A field and what is below it; undefined when neither is owned. */
function node(isOwned: boolean, below: FieldSet | undefined): FieldSet | undefined {
  if (!below || isEmptySet(below)) return isOwned ? leaf : undefined;
  return isOwned ? { [self]: leaf, ...below } : below;
}

function isEmptyMap(value: Json): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** Of a struct's fields only leaves are owned, of a map's every key, and whatever is null or an empty map. */
function fieldsOfMap(object: JsonObject, schema: MapFields): FieldSet {
  const set: FieldSet = {};
  for (const [name, value] of Object.entries(object)) {
    const field = fieldOf(schema, name);
    if (value === undefined || !field) continue;
    const isOwned = value === null || isEmptyMap(value) || !schema.fields.has(name);
    const found = node(isOwned || isLeaf(field), fieldsBelow(value, field));
    if (found) set[fieldElement(name)] = found;
  }
  return set;
}

/** Items are owned; of those that come twice nothing more than that. */
function fieldsOfList(list: Json[], schema: ListFields): FieldSet {
  const set: FieldSet = {};
  for (const item of list) {
    const element = itemElement(schema, item);
    if (element === undefined) continue;
    const isRepeated = Object.hasOwn(set, element);
    set[element] = (isRepeated ? undefined : node(true, fieldsBelow(item, schema.item))) ?? leaf;
  }
  return set;
}

function isLeaf(schema: FieldSchema): boolean {
  if (schema.kind === "list") return schema.merge === "atomic";
  return schema.kind === "scalar" || schema.atomic;
}

function fieldsBelow(value: Json, schema: FieldSchema): FieldSet | undefined {
  if (isLeaf(schema)) return undefined;
  if (schema.kind === "list") return Array.isArray(value) ? fieldsOfList(value, schema) : undefined;
  return schema.kind === "map" && isJsonObject(value) ? fieldsOfMap(value, schema) : undefined;
}

export function fieldsOfObject(object: JsonObject, schema: MapFields): FieldSet {
  return fieldsOfMap(object, schema);
}
