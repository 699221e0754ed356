// JSON merge patches (RFC 7386). Pure; changes none of its arguments.
import { isJsonObject, type Json, type JsonObject, ownValue } from "../../../../shared/kubernetes/json.ts";

export function applyMergePatch(original: Json | undefined, patch: JsonObject): JsonObject {
  const result: JsonObject = isJsonObject(original) ? { ...original } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[key];
    else result[key] = isJsonObject(value) ? applyMergePatch(ownValue(result, key), value) : value;
  }
  return result;
}
