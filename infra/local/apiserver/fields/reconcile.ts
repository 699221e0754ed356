// Entries that a client wrote, brought in line with the type: what is owned as a whole has nothing below it. Mirrors
// structured-merge-diff's typed.ReconcileFieldSetWithSchema. Pure.
import { type FieldSchema, fieldOf } from "./schema.ts";
import { type FieldSet, isEmptySet, leaf, self } from "./set.ts";

function schemaBelow(schema: FieldSchema, element: string): FieldSchema | undefined {
  if (schema.kind === "list") return schema.item;
  if (schema.kind === "scalar") return undefined;
  return element.startsWith("f:") ? fieldOf(schema, element.slice(2)) : schema.item;
}

function isAtomic(schema: FieldSchema): boolean {
  return schema.kind === "list" ? schema.merge === "atomic" : schema.kind === "map" && schema.atomic;
}

/** The set without what is below a map or a list that is atomic; that itself is in it instead. */
export function reconcileWithSchema(fields: FieldSet, schema: FieldSchema): FieldSet {
  const result: FieldSet = {};
  for (const [element, below] of Object.entries(fields)) {
    const known = element === self ? undefined : schemaBelow(schema, element);
    if (!known || isEmptySet(below)) result[element] = below;
    else result[element] = isAtomic(known) ? leaf : reconcileWithSchema(below, known);
  }
  return result;
}
