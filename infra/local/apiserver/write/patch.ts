// What a patch makes of an object, before it is written as an update. Mirrors apiserver's handlers/patch.go; applying is
// in apply.ts, and JSON patches are not served.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { applyStrategicMergePatch } from "../patch/strategic-merge-patch.ts";
import { failure, success } from "../../../../shared/result.ts";
import { parseJson } from "./body.ts";
import { invalid } from "../validation/field-errors.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { type ApiObject, asJson, type Outcome } from "../object.ts";
import type { WriteOptions } from "./options.ts";
import { kindFault, strictError } from "./read-object.ts";
import type { ResourceType } from "../resource-type.ts";
import * as refuse from "../status.ts";
import { decode } from "./write.ts";

export type PatchType = "merge" | "strategic";

const mediaTypes = new Map<string, PatchType | "apply">([
  ["application/merge-patch+json", "merge"],
  ["application/strategic-merge-patch+json", "strategic"],
  ["application/apply-patch+yaml", "apply"],
]);

/** The patch type that a Content-Type stands for; undefined when there is none. */
export function patchTypeOf(contentType: string): PatchType | "apply" | undefined {
  return mediaTypes.get(contentType.split(";")[0]?.trim() ?? "");
}

/** A 422 about the patch as a whole. */
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
  const applied = applyStrategicMergePatch(current, patch, type.schema);
  return applied.ok ? applied : failure(refuse.strategicPatchError(applied.error));
}

/** The object as the patch leaves it, in its kind's own form. */
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
  // A patch may say that the object is of another kind, which only a strategic merge patch gets away with.
  const fault = kind === "merge" ? kindFault(patched.value, type) : undefined;
  if (fault !== undefined) return unsuitable(text, fault);
  const decoded = decode(type, patched.value);
  if (!decoded.ok) return unsuitable(text, decoded.error);
  const { object, unknown } = decoded.value;
  return fields === "Strict" && unknown.length > 0 ? unsuitable(text, strictError(unknown)) : success(object);
}
