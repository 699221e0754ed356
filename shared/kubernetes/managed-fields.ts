// Who wrote a field last, by metadata.managedFields. Reads only.
import { isJsonObject } from "./json.ts";
import type { ObjectMeta } from "./types.ts";

/**
 * The field managers that own a field, by its path in fieldsV1 (structured-merge-diff): `["f:spec", "f:renewTime"]`.
 * Empty where the apiserver does not record them.
 */
export function fieldOwners(metadata: ObjectMeta | undefined, path: readonly string[]): string[] {
  return (metadata?.managedFields ?? []).flatMap(({ manager, fieldsV1 }) =>
    manager !== undefined && holds(fieldsV1, path) ? manager : [],
  );
}

function holds(fields: unknown, path: readonly string[]): boolean {
  let at = fields;
  for (const step of path) {
    if (!isJsonObject(at) || !Object.hasOwn(at, step)) return false;
    at = at[step];
  }
  return true;
}
