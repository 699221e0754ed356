// How a list of an object merges, out of the object's schema.
import {
  fieldSchema,
  type ListSchema,
  type PatchSchema,
} from "../../../../shared/kubernetes/patch/schema.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";

/** The schema of a field that holds a list (upstream: LookupPatchMetadataForSlice). */
export function listSchema(schema: PatchSchema, field: string): Result<ListSchema> {
  const found = fieldSchema(schema, field);
  if (!found.ok) return found;
  const { value } = found;
  return value.kind === "list"
    ? success(value)
    : failure(`expected slice or array type, but got: ${value.kind}`);
}
