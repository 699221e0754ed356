// What JSON and strategic merge patches need of a Go type: which fields it has, which of them Go leaves out where they
// are empty, and how each list merges. node-schema.ts and object-schemas.ts describe the types.
import { failure, type Result, success } from "../../result.ts";

/** Mirrors the `patchStrategy` and `patchMergeKey` tags of upstream's Go types. */
export type PatchSchema = ScalarSchema | MapSchema | StructSchema | ListSchema;

/** Text, a number, a boolean or a time; or anything that is written as it is. */
export interface ScalarSchema {
  kind: "scalar";
  /** With which value Go leaves the field out: with any empty one, with null alone (a pointer), or never. */
  absent: "empty" | "null" | "never";
}

/** Free keys, such as labels; with `quantities`, values that are compared and sent in canonical notation. */
export interface MapSchema {
  kind: "map";
  quantities: boolean;
}

export interface StructSchema {
  kind: "struct";
  /** The Go type's name, for error texts. */
  name: string;
  fields: Record<string, PatchSchema>;
}

/** A list is replaced as a whole, merged as a set of scalars, or merged object by object by a key. */
export type ListSchema =
  | { kind: "list"; merge: "atomic"; item?: StructSchema }
  | { kind: "list"; merge: "set" }
  | { kind: "list"; merge: "key"; key: string; item: StructSchema };

export const map: MapSchema = { kind: "map", quantities: false };
export const quantities: MapSchema = { kind: "map", quantities: true };
export const atomicList: ListSchema = { kind: "list", merge: "atomic" };
export const setList: ListSchema = { kind: "list", merge: "set" };

export function keyedList(key: string, item: StructSchema): ListSchema {
  return { kind: "list", merge: "key", key, item };
}

/** A list of objects that is replaced as a whole. */
export function atomicListOf(item: StructSchema): ListSchema {
  return { kind: "list", merge: "atomic", item };
}

export function struct(name: string, fields: Record<string, PatchSchema>): StructSchema {
  return { kind: "struct", name, fields };
}

/**
 * Scalar fields by name. A mark after it says what `omitempty` does: "reason?" is left out where it is empty, "swap*" is
 * a pointer and left out where it is null, "status" is always there.
 */
export function scalars(...names: string[]): Record<string, PatchSchema> {
  return Object.fromEntries(
    names.map((name) => {
      if (name.endsWith("?")) return [name.slice(0, -1), { kind: "scalar", absent: "empty" }];
      if (name.endsWith("*")) return [name.slice(0, -1), { kind: "scalar", absent: "null" }];
      return [name, { kind: "scalar", absent: "never" }];
    }),
  );
}

/** The schema of one field (upstream: LookupPatchMetadataForStruct). */
export function fieldSchema(schema: PatchSchema, field: string): Result<PatchSchema> {
  if (schema.kind !== "struct") {
    return failure(`merging an object in json but data type is not struct, instead is: ${schema.kind}`);
  }
  if (Object.hasOwn(schema.fields, field)) return success(schema.fields[field]!);
  return failure(`unable to find api field in struct ${schema.name} for the json field "${field}"`);
}
