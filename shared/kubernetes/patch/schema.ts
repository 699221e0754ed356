// What a strategic merge patch needs of a type: which fields it has and how each list merges. node-schema.ts describes
// the types.
import { failure, type Result, success } from "../../result.ts";

/** Mirrors the `patchStrategy` and `patchMergeKey` tags of upstream's Go types. */
export type PatchSchema = ScalarSchema | MapSchema | StructSchema | ListSchema;

/** Text, a number, a boolean or a time. */
export interface ScalarSchema {
  kind: "scalar";
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
  | { kind: "list"; merge: "atomic" }
  | { kind: "list"; merge: "set" }
  | { kind: "list"; merge: "key"; key: string; item: StructSchema };

export const scalar: ScalarSchema = { kind: "scalar" };
export const map: MapSchema = { kind: "map", quantities: false };
export const quantities: MapSchema = { kind: "map", quantities: true };
export const atomicList: ListSchema = { kind: "list", merge: "atomic" };
export const setList: ListSchema = { kind: "list", merge: "set" };

export function keyedList(key: string, item: StructSchema): ListSchema {
  return { kind: "list", merge: "key", key, item };
}

export function struct(name: string, fields: Record<string, PatchSchema>): StructSchema {
  return { kind: "struct", name, fields };
}

/** Scalar fields by name. */
export function scalars(...names: string[]): Record<string, PatchSchema> {
  return Object.fromEntries(names.map((name) => [name, scalar]));
}

/** The schema of one field (upstream: LookupPatchMetadataForStruct). */
export function fieldSchema(schema: PatchSchema, field: string): Result<PatchSchema> {
  if (schema.kind !== "struct") {
    return failure(`merging an object in json but data type is not struct, instead is: ${schema.kind}`);
  }
  if (Object.hasOwn(schema.fields, field)) return success(schema.fields[field]!);
  return failure(`unable to find api field in struct ${schema.name} for the json field "${field}"`);
}
