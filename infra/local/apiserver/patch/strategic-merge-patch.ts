// Applies a strategic merge patch like upstream strategicpatch. Shares parts of its arguments, but changes none.
import { isJsonObject, type Json, type JsonObject, ownValue } from "../../../../shared/kubernetes/json.ts";
import {
  DELETE_FROM_LIST,
  DIRECTIVE,
  SET_ELEMENT_ORDER,
} from "../../../../shared/kubernetes/patch/directives.ts";
import { identity, missingMergeKey } from "../../../../shared/kubernetes/patch/list-order.ts";
import {
  fieldSchema,
  type ListSchema,
  type PatchSchema,
} from "../../../../shared/kubernetes/patch/schema.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";
import * as lists from "./merge-lists.ts";

/** Applies `patch` to `original`, or fails for a malformed patch. Mirrors upstream StrategicMergePatch. */
export function applyStrategicMergePatch(
  original: JsonObject,
  patch: JsonObject,
  schema: PatchSchema,
): Result<JsonObject> {
  const directive = ownValue(patch, DIRECTIVE);
  if (directive !== undefined) return applyDirective(patch, directive);
  const changes = { ...patch };
  const retained = retainKeys(original, changes);
  if (!retained.ok) return retained;
  const merged = retained.value;
  for (const key of Object.keys(changes).filter((key) => key.startsWith(SET_ELEMENT_ORDER))) {
    const error = mergeOrderedList(merged, changes, key, schema);
    if (error !== null) return failure(error);
  }
  for (const [key, change] of Object.entries(changes)) {
    const error = change === undefined ? null : mergeField(merged, key, change, schema);
    if (error !== null) return failure(error);
  }
  return success(merged);
}

/** Returns {} for the directive `delete`, the patch's fields for `replace`. Mirrors handleDirectiveInMergeMap. */
function applyDirective(patch: JsonObject, directive: Json): Result<JsonObject> {
  if (directive === "delete") return success({});
  if (directive !== "replace") return failure(lists.unknownDirective(patch, directive));
  const { [DIRECTIVE]: _, ...replacement } = patch;
  return success(replacement);
}

/** Copies the keys of `original`, or only those in the patch's `$retainKeys`. Mirrors applyRetainKeysDirective. */
function retainKeys(original: JsonObject, changes: JsonObject): Result<JsonObject> {
  const retained = ownValue(changes, lists.RETAIN_KEYS);
  if (retained === undefined) return success({ ...original });
  delete changes[lists.RETAIN_KEYS];
  if (!Array.isArray(retained)) return failure("invalid patch format of retainKeys");
  const keys = new Set(retained);
  for (const [key, change] of Object.entries(changes)) {
    const isParallelList = key.startsWith(DELETE_FROM_LIST) || key.startsWith(SET_ELEMENT_ORDER);
    if (change === null || change === undefined || isParallelList || keys.has(key)) continue;
    return failure("invalid patch format of retainKeys");
  }
  return success(Object.fromEntries(Object.entries(original).filter(([key]) => keys.has(key))));
}

/** Merges a field of the patch into `merged`. Returns an error text or null. Mirrors the loop of mergeMap. */
function mergeField(merged: JsonObject, patchKey: string, change: Json, schema: PatchSchema): string | null {
  const isDeletion = patchKey.startsWith(DELETE_FROM_LIST);
  const key = isDeletion ? lists.withoutPrefix(patchKey, DELETE_FROM_LIST) : patchKey;
  if (key === null) return "invalid patch format of primitive list";
  if (change === null) {
    delete merged[key];
    return null;
  }
  const current = ownValue(merged, key);
  if (current === undefined || lists.typeName(current) !== lists.typeName(change)) {
    if (!isDeletion) setOrDelete(merged, key, lists.withoutDirectives(lists.withoutNulls(change)));
    return null;
  }
  const outcome = mergeValue(current, change, key, schema, isDeletion);
  if (!outcome.ok) return outcome.error;
  merged[key] = outcome.value;
  return null;
}

function setOrDelete(object: JsonObject, key: string, value: Json | undefined): void {
  if (value === undefined) delete object[key];
  else object[key] = value;
}

function mergeValue(
  current: Json,
  change: Json,
  key: string,
  schema: PatchSchema,
  isDeletion: boolean,
): Result<Json> {
  if (isJsonObject(current) && isJsonObject(change)) {
    const field = fieldSchema(schema, key);
    return field.ok ? applyStrategicMergePatch(current, change, field.value) : field;
  }
  if (Array.isArray(current) && Array.isArray(change)) {
    const found = listSchema(schema, key);
    if (!found.ok) return found;
    const list = found.value;
    if (list.merge === "atomic" && !isDeletion) return success(change);
    const outcome = lists.mergeLists(current, change, list, isDeletion, applyStrategicMergePatch);
    return outcome.ok ? success(outcome.value.merged) : outcome;
  }
  return success(change);
}

/**
 * Merges a list whose patch has a `$setElementOrder`. Removes the list and the order from `changes`, so that
 * no other step merges the list. Returns an error text, or null. Mirrors upstream mergePatchIntoOriginal.
 */
function mergeOrderedList(
  merged: JsonObject,
  changes: JsonObject,
  orderKey: string,
  schema: PatchSchema,
): string | null {
  const order = changes[orderKey];
  delete changes[orderKey];
  const key = lists.withoutPrefix(orderKey, SET_ELEMENT_ORDER);
  if (key === null || !Array.isArray(order)) return "invalid patch format of setElementOrder list";
  const current = ownValue(merged, key);
  const change = ownValue(changes, key);
  if (current !== undefined && !Array.isArray(current)) return `expected a list in the field ${key}`;
  if (change !== undefined && !Array.isArray(change))
    return `expected a list in the patch of the field ${key}`;
  const found = listSchema(schema, key);
  if (!found.ok) return found.error;
  const list = found.value;
  const mergeKey = list.merge === "key" ? list.key : null;
  const invalid = orderMismatch(change ?? [], order, mergeKey);
  if (invalid !== null) return invalid;
  if (current === undefined && change === undefined) return null;
  const outcome = mergeForOrder(current, change, list);
  if (!outcome.ok) return outcome.error;
  const { merged: items, memory } = outcome.value;
  const missing = mergeKey === null ? null : missingMergeKey(mergeKey, [...items, ...order, ...memory]);
  if (missing !== null) return missing;
  merged[key] = lists.orderMerged(items, order, memory, mergeKey);
  delete changes[key];
  return null;
}

function mergeForOrder(
  current: Json[] | undefined,
  change: Json[] | undefined,
  list: ListSchema,
): Result<lists.MergedList> {
  const type = lists.elementType([...(current ?? []), ...(change ?? [])]);
  if (!type.ok) return type;
  if (type.value === "object" && list.merge !== "key") return failure("cannot order a list of maps");
  if (current === undefined)
    return success({ merged: lists.itemsWithoutDirectives(change ?? []), memory: [] });
  if (change === undefined) return success({ merged: current, memory: current });
  if (list.merge === "atomic") return success({ merged: change, memory: current });
  return lists.mergeLists(current, change, list, false, applyStrategicMergePatch);
}

/** Returns an error text if the items' order is not `$setElementOrder`. Mirrors validatePatchWithSetOrderList. */
function orderMismatch(change: Json[], order: Json[], key: string | null): string | null {
  if (order.length === 0 || change.length === 0) return null;
  const patched = key === null ? change : change.filter((item) => !lists.isDirective(item, "delete"));
  if (key !== null) {
    const missing = missingMergeKey(key, [...patched.filter((item) => !lists.isDirective(item)), ...order]);
    if (missing !== null) return missing;
  }
  let next = 0;
  for (const ordered of order) {
    while (next < patched.length && lists.isDirective(patched[next]!)) next++;
    if (next < patched.length && identity(patched[next], key) === identity(ordered, key)) next++;
  }
  if (next >= patched.length) return null;
  const [items, wanted] = [JSON.stringify(change), JSON.stringify(order)];
  return `The order in patch list:\n${items}\n doesn't match ${SET_ELEMENT_ORDER} list:\n${wanted}\n`;
}

/** Returns the schema of a list field. Mirrors upstream LookupPatchMetadataForSlice. */
function listSchema(schema: PatchSchema, field: string): Result<ListSchema> {
  const found = fieldSchema(schema, field);
  if (!found.ok) return found;
  const { value } = found;
  return value.kind === "list"
    ? success(value)
    : failure(`expected slice or array type, but got: ${value.kind}`);
}
