// The JSON that Go makes of an object, which is what an apiserver sends and expects.
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { PatchSchema } from "./schema.ts";
import { parseQuantity } from "../quantity/parse.ts";
import { quantityText } from "../quantity/text.ts";

/** The schema of a field; undefined for one that the type does not have. */
export function knownField(schema: PatchSchema, key: string): PatchSchema | undefined {
  return schema.kind === "struct" && Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
}

/** The value, or undefined where Go leaves the field out of JSON. */
export function present(value: Json | undefined, field: PatchSchema | undefined): Json | undefined {
  if (field === undefined || field.kind === "scalar") return value;
  if (value === null || value === undefined) return undefined;
  if (field.kind === "list" && Array.isArray(value) && value.length === 0) return undefined;
  return field.kind === "map" && isJsonObject(value) && isEmpty(value) ? undefined : value;
}

export function isEmpty(object: JsonObject): boolean {
  for (const key in object) if (object[key] !== undefined) return false;
  return true;
}

/** A value as Go writes it: what counts as absent left out, quantities in canonical notation. */
export function wireForm(value: Json, schema: PatchSchema | undefined): Json {
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

/** A quantity in canonical notation; anything else as it is. */
export function canonicalQuantity(quantity: Json | undefined): Json | undefined {
  if (typeof quantity !== "string") return quantity;
  const parsed = parseQuantity(quantity);
  return parsed.ok ? quantityText(parsed.value) : quantity;
}
