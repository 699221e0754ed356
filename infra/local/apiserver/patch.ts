// What a patch makes of an object, before it is written as an update. Mirrors apiserver's handlers/patch.go; applying is
// in apply.ts.
import { isJsonObject, type Json, type JsonObject } from "../../../shared/kubernetes/json.ts";
import { applyStrategicMergePatch } from "../../../shared/kubernetes/patch/strategic-merge-patch.ts";
import type { Status } from "../../../shared/kubernetes/types.ts";
import { type ParsedJson, parseGoJson } from "./go-json.ts";
import { duplicateFields } from "./go-json-duplicates.ts";
import { changedText, mapText } from "./go-map-text.ts";
import { applyJsonPatch, applyMergePatch } from "./json-patch.ts";
import { goKind } from "./kinds/decode-scalar.ts";
import { goJson } from "./answer.ts";
import { type ApiObject, asJson, type Outcome } from "./object.ts";
import type { WriteOptions } from "./options.ts";
import { conversionError, identityOf, withDefaults } from "./read-object.ts";
import type { ResourceType } from "./resource-type.ts";
import * as refuse from "./status.ts";
import { invalid } from "./validation/field-errors.ts";
import { apiVersionOf, decode, type DecodedBody } from "./write.ts";

export type PatchType = "json" | "merge" | "strategic";

const mediaTypes = new Map<string, PatchType | "apply">([
  ["application/json-patch+json", "json"],
  ["application/merge-patch+json", "merge"],
  ["application/strategic-merge-patch+json", "strategic"],
  ["application/apply-patch+yaml", "apply"],
]);

/** The patch type that a Content-Type stands for; undefined when there is none. */
export function patchTypeOf(contentType: string): PatchType | "apply" | undefined {
  return mediaTypes.get(contentType.split(";")[0]?.trim() ?? "");
}

/** A 422 about the patch as a whole; `value` is what it was, or made. */
function unsuitable(value: string, error: string): { refused: Status } {
  return { refused: refuse.invalid("", "", "", [invalid("patch", value, error)]) };
}

/** What a patch made, with what a strict reader would complain of in its text. */
interface Patched {
  result: JsonObject;
  strict: string[];
  /** The patch or its result, as errors print it. */
  printed: () => string;
}

type Fields = WriteOptions["fieldValidation"];

/** Upstream reads a patch in a strict way first, unless it is to ignore what it finds. */
function undecodable(kind: PatchType, fields: Fields, error: string): { refused: Status } {
  const isStrict = fields !== "Ignore" && kind !== "strategic";
  const plain = kind === "merge" ? "Invalid JSON Patch" : error;
  return { refused: refuse.badRequest(isStrict ? `error decoding patch: ${error}` : plain) };
}

function mismatch(value: Json, type: string): string {
  return `json: cannot unmarshal ${goKind(value)} into Go value of type ${type}`;
}

const operationFields = new Set(["op", "path", "from", "value"]);
const maxOperations = 10_000;

/** Fields of operations that mean nothing. */
function unknownOperationFields(operations: Json[]): string[] {
  return operations.flatMap((operation, index) =>
    Object.keys(isJsonObject(operation) ? operation : {})
      .filter((key) => !operationFields.has(key))
      .map((key) => `json patch unknown field "[${index}].${key}"`),
  );
}

/** A JSON patch that is no list of operations. */
function refuseOperations(patch: Json, fields: Fields): { refused: Status } | undefined {
  const isStrict = fields !== "Ignore";
  if (!Array.isArray(patch)) {
    const type = isStrict ? "[]handlers.jsonPatchOp" : "jsonpatch.Patch";
    return patch === null ? undefined : undecodable("json", fields, mismatch(patch, type));
  }
  const bad = patch.find((operation) => operation !== null && !isJsonObject(operation));
  const type = isStrict ? "handlers.jsonPatchOp" : "jsonpatch.Operation";
  if (bad !== undefined) return undecodable("json", fields, mismatch(bad, type));
  if (patch.length <= maxOperations) return undefined;
  return { refused: refuse.tooManyOperations(maxOperations, patch.length) };
}

/** Upstream's library can replace a document as a whole, by another document; it cannot add or remove one. */
function misusesRoot(operation: Json): boolean {
  if (!isJsonObject(operation) || operation["path"] !== "") return false;
  const { op, value = null } = operation;
  const isDocument = typeof value === "object" && value !== null;
  return op === "replace" ? !isDocument : op !== "test";
}

function applyOperations(
  current: JsonObject,
  patch: Json,
  strict: string[],
  fields: Fields,
): Outcome<Patched> {
  const refused = refuseOperations(patch, fields);
  if (refused) return refused;
  const operations = Array.isArray(patch) ? patch : [];
  const applied = operations.some(misusesRoot)
    ? { error: "missing path" }
    : applyJsonPatch(current, operations);
  if ("error" in applied) return { refused: refuse.unsuitableJsonPatch() };
  const { result } = applied;
  const printed = () => changedText(result, current);
  if (!isJsonObject(result)) return unsuitable(printed(), identityError(result));
  const unknown = unknownOperationFields(operations);
  return { ok: { result, strict: [...strict.map((text) => `json patch ${text}`), ...unknown], printed } };
}

function identityError(value: Json): string {
  const identity = identityOf(value);
  return "error" in identity ? identity.error : "";
}

function applyMerge(current: JsonObject, patch: Json, strict: string[], fields: Fields): Outcome<Patched> {
  if (Array.isArray(patch) && fields === "Ignore") {
    return unsuitable(goJson(patch), identityError(patch));
  }
  if (patch === null) return { refused: refuse.badRequest("Invalid JSON Patch") };
  if (!isJsonObject(patch)) return undecodable("merge", fields, mismatch(patch, "map[string]interface {}"));
  const merged = applyMergePatch(current, patch);
  const result = isJsonObject(merged) ? merged : {};
  return { ok: { result, strict, printed: () => changedText(result, current) } };
}

function applyPatch(
  type: ResourceType,
  kind: PatchType,
  current: JsonObject,
  parsed: Exclude<ParsedJson, { error: string }>,
  fields: Fields,
): Outcome<Patched> {
  const patch = parsed.value;
  const strict = parsed.duplicates ? duplicateFields(patch, parsed.duplicates) : [];
  if (kind === "json") return applyOperations(current, patch, strict, fields);
  if (kind === "merge") return applyMerge(current, patch, strict, fields);
  if (!isJsonObject(patch) && patch !== null)
    return undecodable(kind, fields, mismatch(patch, "map[string]interface {}"));
  const applied = applyStrategicMergePatch(current, patch ?? {}, type.schema);
  if (!applied.ok) return { refused: refuse.strategicPatchError(applied.error) };
  return { ok: { result: applied.value, strict, printed: () => mapText(patch ?? {}) } };
}

/** A patch may say that the object is of another kind, which only a strategic merge patch gets away with. */
function kindError(type: ResourceType, result: JsonObject): string | undefined {
  const identity = identityOf(result);
  if ("error" in identity) return identity.error;
  return conversionError(withDefaults(identity, type), type);
}

/** What is left of an object without apiVersion: upstream reads it into a type that has none of its fields. */
function withoutVersion(type: ResourceType, result: JsonObject): DecodedBody {
  const unknown = Object.keys(result).filter((key) => key !== "kind" && key !== "apiVersion");
  const object = { kind: type.kind, apiVersion: apiVersionOf(type), metadata: {} };
  return { object, strict: unknown.map((key) => `unknown field ${JSON.stringify(key)}`) };
}

function decodeResult(type: ResourceType, kind: PatchType, result: JsonObject): DecodedBody {
  if (kind === "strategic") return decode(type, result, { isUnstructured: true });
  const error = kindError(type, result);
  if (error !== undefined) return { error };
  return result["apiVersion"] ? decode(type, result) : withoutVersion(type, result);
}

/** The object as the patch leaves it, in its kind's own form, with what the client is to be warned of. */
export function patchObject(
  type: ResourceType,
  kind: PatchType,
  current: ApiObject,
  text: string,
  fields: Fields,
): Outcome<{ object: ApiObject; warnings: string[] }> {
  const parsed = parseGoJson(text, fields !== "Ignore");
  if ("error" in parsed) return undecodable(kind, fields, parsed.error);
  const patched = applyPatch(type, kind, asJson(current), parsed, fields);
  if ("refused" in patched) return patched;
  const { result, strict, printed } = patched.ok;
  const decoded = decodeResult(type, kind, result);
  if ("error" in decoded) return unsuitable(printed(), decoded.error);
  const unknown = kind === "strategic" ? decoded.strict.toSorted() : decoded.strict;
  const complaints = fields === "Ignore" ? [] : [...strict, ...unknown];
  if (fields === "Strict" && complaints.length > 0) {
    return unsuitable(printed(), `strict decoding error: ${complaints.join(", ")}`);
  }
  return { ok: { object: decoded.object, warnings: complaints } };
}
