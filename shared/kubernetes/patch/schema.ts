// Describes a Go type for JSON and strategic merge patches: its fields, the fields that Go leaves out if they are
// empty, and the merge of each list. node-schema.ts and object-schemas.ts have the types.
import { failure, type Result, success } from "../../result.ts";

/** The schema of a value. Mirrors the `patchStrategy` and `patchMergeKey` tags of upstream's Go types. */
export type PatchSchema = ScalarSchema | MapSchema | StructSchema | ListSchema;

/** The schema of a text, a number, a boolean, a time, or another value that is written unchanged. */
export interface ScalarSchema {
  kind: "scalar";
  /** The case in which Go leaves the field out: if it is empty, if it is null (a pointer), or never. */
  absent: "empty" | "null" | "never";
}

/** The schema of a map with free keys (labels). `quantities`: values are compared and sent in canonical notation. */
export interface MapSchema {
  kind: "map";
  quantities: boolean;
}

export interface StructSchema {
  kind: "struct";
  /** The Go type's name, for errors. */
  name: string;
  fields: Record<string, PatchSchema>;
}

/** The schema of a list that is replaced as a whole, merged as a set of scalars, or merged by its objects' key. */
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

/** Returns the schema of a list of objects that is replaced as a whole. */
export function atomicListOf(item: StructSchema): ListSchema {
  return { kind: "list", merge: "atomic", item };
}

export function struct(name: string, fields: Record<string, PatchSchema>): StructSchema {
  return { kind: "struct", name, fields };
}

/** Returns schemas of scalar fields: "reason?" is left out if empty, "swap*" if null (a pointer), "status" never. */
export function scalars(...names: string[]): Record<string, PatchSchema> {
  return Object.fromEntries(
    names.map((name) => {
      if (name.endsWith("?")) return [name.slice(0, -1), { kind: "scalar", absent: "empty" }];
      if (name.endsWith("*")) return [name.slice(0, -1), { kind: "scalar", absent: "null" }];
      return [name, { kind: "scalar", absent: "never" }];
    }),
  );
}

/** Returns the schema of one field; fails if the type lacks the field (upstream LookupPatchMetadataForStruct). */
export function fieldSchema(schema: PatchSchema, field: string): Result<PatchSchema> {
  if (schema.kind !== "struct") {
    return failure(`merging an object in json but data type is not struct, instead is: ${schema.kind}`);
  }
  if (Object.hasOwn(schema.fields, field)) return success(schema.fields[field]!);
  return failure(`unable to find api field in struct ${schema.name} for the json field "${field}"`);
}
