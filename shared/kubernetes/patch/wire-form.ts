// Makes the JSON of an object that Go would make. An apiserver sends and expects the same JSON.
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { PatchSchema, ScalarSchema, StructSchema } from "./schema.ts";
import { parseQuantity } from "../quantity/parse.ts";
import { quantityText } from "../quantity/text.ts";

/** Returns the schema of a field; undefined if the type lacks the field. */
export function knownField(schema: PatchSchema, key: string): PatchSchema | undefined {
  return schema.kind === "struct" && Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
}

/** Returns the field's value; undefined if Go leaves the field out of JSON. */
export function present(value: Json | undefined, field: PatchSchema | undefined): Json | undefined {
  if (field === undefined) return value;
  if (field.kind === "scalar") return isAbsent(value, field.absent) ? undefined : value;
  if (value === null || value === undefined) return undefined;
  if (field.kind === "list" && Array.isArray(value) && value.length === 0) return undefined;
  return field.kind === "map" && isJsonObject(value) && isEmpty(value) ? undefined : value;
}

function isAbsent(value: Json | undefined, absent: ScalarSchema["absent"]): boolean {
  if (absent === "never") return false;
  return value === null || (absent === "empty" && (value === "" || value === 0 || value === false));
}

export function isEmpty(object: JsonObject): boolean {
  for (const key in object) if (object[key] !== undefined) return false;
  return true;
}

/** Returns the object as Go writes it: without absent fields, and with quantities in canonical notation. */
export function wireForm(value: JsonObject, schema: PatchSchema | undefined): JsonObject;
export function wireForm(value: Json, schema: PatchSchema | undefined): Json;
export function wireForm(value: Json, schema: PatchSchema | undefined): Json {
  if (schema?.kind === "list" && "item" in schema && Array.isArray(value))
    return value.map((item) => wireForm(item, schema.item));
  if (schema === undefined || !isJsonObject(value)) return value;
  const isResourceList = schema.kind === "map" && schema.quantities;
  if (schema.kind !== "struct" && !isResourceList) return value;
  const fields: JsonObject = {};
  for (const key in value) {
    const field = knownField(schema, key);
    const content = present(value[key], field);
    if (content !== undefined)
      fields[key] = isResourceList ? canonicalQuantity(content) : wireForm(content, field);
  }
  return fields;
}

/**
 * Returns a strategic merge patch without the fields that Go leaves out. A field that becomes empty is null, as in
 * upstream's patch of two objects. An empty map, or an empty list that merges, is removed. Directives stay.
 */
export function patchWireForm(patch: JsonObject, schema: StructSchema): JsonObject {
  const fields: JsonObject = {};
  for (const key in patch) {
    const field = knownField(schema, key);
    const value = patch[key];
    if (value === undefined) continue;
    if (present(value, field) === undefined) {
      const isMerged = field?.kind === "map" || (field?.kind === "list" && field.merge !== "atomic");
      if (value === null || !isMerged) fields[key] = null;
    } else if (field?.kind === "struct" && isJsonObject(value)) fields[key] = patchWireForm(value, field);
    else if (field?.kind === "list" && field.merge === "key" && Array.isArray(value))
      fields[key] = value.map((item) => (isJsonObject(item) ? patchWireForm(item, field.item) : item));
    else fields[key] = wireForm(value, field?.kind === "map" ? undefined : field);
  }
  return fields;
}

/** Returns a quantity in canonical notation, and any other value unchanged. */
export function canonicalQuantity(quantity: Json | undefined): Json | undefined {
  if (typeof quantity !== "string") return quantity;
  const parsed = parseQuantity(quantity);
  return parsed.ok ? quantityText(parsed.value) : quantity;
}
