// Applies a patch or a server-side apply to an object. The caller stores the result as an update. JSON patches are
// not supported. Mirrors handlers/patch.go and managedfields/internal (FieldManager.Apply).
import { isJsonObject, type Json, type JsonObject, ownValue } from "../../../../shared/kubernetes/json.ts";
import { failure, success } from "../../../../shared/result.ts";
import {
  encodeManagers,
  type FieldManager,
  type FieldWrite,
  managersAfterUpdate,
  type Owned,
  readManagers,
  unwritten,
} from "../fields/managers.ts";
import { mergeConfiguration } from "../fields/merge-configuration.ts";
import { type ApiObject, asJson, type Outcome } from "../object.ts";
import { patchSchemaOf } from "../kinds/patch-schema.ts";
import { applyStrategicMergePatch } from "../patch/strategic-merge-patch.ts";
import type { ResourceType } from "../resource-type.ts";
import * as refuse from "../status.ts";
import { invalid } from "../validation/field-errors.ts";
import { kindFault, parseJson, strictError, type WriteOptions } from "./read-object.ts";
import { decode } from "./write.ts";

type PatchType = "merge" | "strategic";

const mediaTypes = new Map<string, PatchType | "apply">([
  ["application/merge-patch+json", "merge"],
  ["application/strategic-merge-patch+json", "strategic"],
  ["application/apply-patch+yaml", "apply"],
]);

/** Returns the patch type of a Content-Type, or undefined if it is not supported. */
export function patchTypeOf(contentType: string): PatchType | "apply" | undefined {
  return mediaTypes.get(contentType.split(";")[0]?.trim() ?? "");
}

/** Returns the 422 for a patch that does not fit the object. */
function unsuitable(patch: string, error: string) {
  return failure(refuse.invalid("", "", "", [invalid("patch", patch, error)]));
}

function applyPatch(
  type: ResourceType,
  kind: PatchType,
  current: JsonObject,
  patch: JsonObject,
): Outcome<JsonObject> {
  if (kind === "merge") return success(applyMergePatch(current, patch));
  const applied = applyStrategicMergePatch(current, patch, patchSchemaOf(type));
  return applied.ok ? applied : failure(refuse.plainError(applied.error));
}

/** Applies a patch and decodes the result into the type. */
export function patchObject(
  type: ResourceType,
  kind: PatchType,
  current: ApiObject,
  text: string,
  fields: WriteOptions["fieldValidation"],
): Outcome<ApiObject> {
  const parsed = parseJson(text);
  if (!parsed.ok) return failure(refuse.badRequest(`error decoding patch: ${parsed.error}`));
  if (!isJsonObject(parsed.value)) return failure(refuse.badRequest("error decoding patch: it is no object"));
  const patched = applyPatch(type, kind, asJson(current), parsed.value);
  if (!patched.ok) return patched;
  // Upstream ignores a changed kind in a strategic merge patch, and refuses it in a merge patch.
  const fault = kind === "merge" ? kindFault(patched.value, type) : undefined;
  if (fault !== undefined) return unsuitable(text, fault);
  const decoded = decode(type, patched.value);
  if (!decoded.ok) return unsuitable(text, decoded.error);
  const { object, unknown } = decoded.value;
  return fields === "Strict" && unknown.length > 0 ? unsuitable(text, strictError(unknown)) : success(object);
}

function applyMergePatch(original: Json | undefined, patch: JsonObject): JsonObject {
  const result: JsonObject = isJsonObject(original) ? { ...original } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[key];
    else result[key] = isJsonObject(value) ? applyMergePatch(ownValue(result, key), value) : value;
  }
  return result;
}

/** Returns the managers before an apply, or one manager of all fields if none exists. Mirrors skipNonAppliedManager. */
function managersBefore(write: FieldWrite, live: ApiObject): Owned[] {
  const managers = readManagers(live.metadata.managedFields ?? []);
  if (managers.length > 0) return managers;
  const writer: FieldManager = { ...write.writer, manager: "before-first-apply", operation: "Update" };
  return managersAfterUpdate({ ...write, writer }, [], live, unwritten(write.type)) ?? [];
}

/** Creates or changes an object by `config`. With `force`, takes over other managers' fields instead of failing. */
export function applyConfiguration(
  write: FieldWrite,
  config: JsonObject,
  live: ApiObject | undefined,
  force: boolean,
): Outcome<ApiObject> {
  const { type } = write;
  const fault = kindFault(config, type);
  if (fault !== undefined) return failure(refuse.badRequest(fault));
  const fits = decode(type, config);
  if (!fits.ok) return failure(refuse.badRequest(fits.error));
  if (fits.value.unknown.length > 0) return failure(refuse.badRequest(strictError(fits.value.unknown)));
  if (fits.value.object.metadata.managedFields)
    return failure(refuse.badRequest("metadata.managedFields must be nil"));
  const base = live ?? unwritten(type);
  const merged = mergeConfiguration(write, managersBefore(write, base), base, config, force);
  if (!merged.ok) return failure(refuse.applyConflict(merged.error));
  const decoded = decode(type, merged.value.object);
  if (!decoded.ok) return failure(refuse.badRequest(decoded.error));
  const managedFields = encodeManagers(merged.value.managers);
  const { managedFields: _, ...metadata } = decoded.value.object.metadata;
  return success({
    ...decoded.value.object,
    metadata: { ...metadata, ...(managedFields && { managedFields }) },
  });
}
