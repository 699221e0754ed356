// Finds the writers of a field in metadata.managedFields.
import { isJsonObject } from "./json.ts";
import type { ObjectMeta } from "./types.ts";

/**
 * Returns the field managers that own a field. `path` is its path in fieldsV1 (structured-merge-diff): `["f:spec",
 * "f:renewTime"]`. Returns none if the apiserver does not record field managers.
 */
export function fieldOwners(metadata: ObjectMeta | undefined, path: readonly string[]): string[] {
  return (metadata?.managedFields ?? []).flatMap(({ manager, fieldsV1 }) =>
    manager !== undefined && holds(fieldsV1, path) ? manager : [],
  );
}

/** Returns another owner of a field; null if there is none, or if `fieldManager` owns the field as well. */
export function otherOwner(
  metadata: ObjectMeta | undefined,
  path: readonly string[],
  fieldManager: string,
): string | null {
  const owners = fieldOwners(metadata, path);
  return owners.includes(fieldManager) ? null : (owners[0] ?? null);
}

function holds(fields: unknown, path: readonly string[]): boolean {
  let at = fields;
  for (const step of path) {
    if (!isJsonObject(at) || !Object.hasOwn(at, step)) return false;
    at = at[step];
  }
  return true;
}
