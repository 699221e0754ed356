// Applies a strategic merge patch like upstream strategicpatch, with its directives (`$patch` and others) and its
// order. Shares parts of its arguments, but changes none.
import { isJsonObject, type Json, type JsonObject, ownValue } from "../../../../shared/kubernetes/json.ts";
import {
  DELETE_FROM_LIST,
  DIRECTIVE,
  SET_ELEMENT_ORDER,
} from "../../../../shared/kubernetes/patch/directives.ts";
import {
  identity,
  missingMergeKey,
  noMergeKey,
  ranks,
  sortByOrder,
  withoutDuplicates,
} from "../../../../shared/kubernetes/patch/list-order.ts";
import {
  fieldSchema,
  type ListSchema,
  type PatchSchema,
  type StructSchema,
} from "../../../../shared/kubernetes/patch/schema.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";

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
  if (directive !== "replace") return failure(unknownDirective(patch, directive));
  const { [DIRECTIVE]: _, ...replacement } = patch;
  return success(replacement);
}

/** Copies the keys of `original`, or only those in the patch's `$retainKeys`. Mirrors applyRetainKeysDirective. */
function retainKeys(original: JsonObject, changes: JsonObject): Result<JsonObject> {
  const retained = ownValue(changes, RETAIN_KEYS);
  if (retained === undefined) return success({ ...original });
  delete changes[RETAIN_KEYS];
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
  const key = isDeletion ? withoutPrefix(patchKey, DELETE_FROM_LIST) : patchKey;
  if (key === null) return "invalid patch format of primitive list";
  if (change === null) {
    delete merged[key];
    return null;
  }
  const current = ownValue(merged, key);
  if (current === undefined || typeName(current) !== typeName(change)) {
    if (!isDeletion) setOrDelete(merged, key, withoutDirectives(withoutNulls(change)));
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
    const outcome = mergeLists(current, change, list, isDeletion, applyStrategicMergePatch);
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
  const key = withoutPrefix(orderKey, SET_ELEMENT_ORDER);
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
  merged[key] = orderMerged(items, order, memory, mergeKey);
  delete changes[key];
  return null;
}

function mergeForOrder(
  current: Json[] | undefined,
  change: Json[] | undefined,
  list: ListSchema,
): Result<MergedList> {
  const type = elementType([...(current ?? []), ...(change ?? [])]);
  if (!type.ok) return type;
  if (type.value === "object" && list.merge !== "key") return failure("cannot order a list of maps");
  if (current === undefined) return success({ merged: itemsWithoutDirectives(change ?? []), memory: [] });
  if (change === undefined) return success({ merged: current, memory: current });
  if (list.merge === "atomic") return success({ merged: change, memory: current });
  return mergeLists(current, change, list, false, applyStrategicMergePatch);
}

/** Returns an error text if the items' order is not `$setElementOrder`. Mirrors validatePatchWithSetOrderList. */
function orderMismatch(change: Json[], order: Json[], key: string | null): string | null {
  if (order.length === 0 || change.length === 0) return null;
  const patched = key === null ? change : change.filter((item) => !isDirective(item, "delete"));
  if (key !== null) {
    const missing = missingMergeKey(key, [...patched.filter((item) => !isDirective(item)), ...order]);
    if (missing !== null) return missing;
  }
  let next = 0;
  for (const ordered of order) {
    while (next < patched.length && isDirective(patched[next]!)) next++;
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

// Lists: sets of scalars, and objects with a key. Mirrors mergeSlice.

// Lists: sets of scalars, and objects with a key. Mirrors mergeSlice.

/** A merged list. `memory` is the original list as upstream's merge overwrites it, for the server's order. */
interface MergedList {
  merged: Json[];
  memory: Json[];
}

/** Merges two list items that have the same key. */
type MergeItem = (current: JsonObject, change: JsonObject, schema: StructSchema) => Result<JsonObject>;

/** Merges two lists that are not atomic. With `isDeletion`, `change` has the scalars to delete from `current`. */
function mergeLists(
  current: Json[],
  change: Json[],
  list: ListSchema,
  isDeletion: boolean,
  mergeItem: MergeItem,
): Result<MergedList> {
  if (current.length === 0 && change.length === 0) return success({ merged: current, memory: current });
  const type = elementType([...current, ...change]);
  if (!type.ok) return type;
  if (type.value === "object") {
    if (list.merge !== "key") return failure("cannot merge lists without merge key");
    return mergeKeyedLists(current, change.filter(isJsonObject), list.key, (currentItem, item) =>
      mergeItem(currentItem, item, list.item),
    );
  }
  if (isDeletion) {
    const deleted = new Set(change);
    return success({ merged: current.filter((item) => !deleted.has(item)), memory: current });
  }
  if (list.merge === "key") return failure(`expected a map, but received a ${type.value}`);
  // For duplicates in `current` the order may differ from upstream's, which depends on the capacity of Go's slice.
  const merged = withoutDuplicates([...current, ...change]);
  return success({ merged: orderMerged(merged, change, current, null), memory: current });
}

function mergeKeyedLists(
  current: Json[],
  change: JsonObject[],
  key: string,
  mergeItem: (current: JsonObject, change: JsonObject) => Result<JsonObject>,
): Result<MergedList> {
  const memory = [...current];
  const split = applyItemDirectives(memory, change, key);
  if (!split.ok) return split;
  const { remaining, additions, replaced } = split.value;
  const serverOrder = replaced ? additions : memory.slice(0, remaining);
  const missing = missingMergeKey(key, [...serverOrder, ...additions]);
  if (missing !== null) return failure(missing);
  if (replaced) return success({ merged: orderMerged(additions, [], additions, key), memory });
  let length = remaining;
  for (const addition of additions) {
    const place = findByKey(memory, length, key, ownValue(addition, key));
    const found = memory[place];
    if (!isJsonObject(found)) {
      memory[length++] = addition;
      continue;
    }
    const outcome = mergeItem(found, addition);
    if (!outcome.ok) return outcome;
    memory[place] = outcome.value;
  }
  const items = memory.slice(0, length);
  const lost = missingMergeKey(key, items);
  if (lost !== null) return failure(lost);
  const merged = orderMerged(items, additions, serverOrder, key);
  return success({ merged, memory: memory.slice(0, current.length) });
}

/** Deletes from the list what $patch names, and returns the items left to merge. Mirrors mergeSliceWithSpecialElements. */
function applyItemDirectives(
  memory: Json[],
  change: JsonObject[],
  key: string,
): Result<{ remaining: number; additions: JsonObject[]; replaced: boolean }> {
  const additions: JsonObject[] = [];
  let remaining = memory.length;
  let replaced = false;
  for (const item of change) {
    const directive = ownValue(item, DIRECTIVE);
    if (directive === undefined) additions.push(item);
    else if (directive === "replace") replaced = true;
    else if (directive === "delete") {
      const deleted = ownValue(item, key);
      if (deleted === undefined) return failure(noMergeKey(item, key));
      remaining = removeByKey(memory, remaining, key, deleted);
    } else return failure(unknownDirective(item, directive));
  }
  return success({ remaining, additions, replaced });
}

/** Returns the index below `length` of an item whose `key` is `value`, or −1. Mirrors findMapInSliceBasedOnKeyValue. */
function findByKey(items: Json[], length: number, key: string, value: Json | undefined): number {
  for (let place = 0; place < length; place++) {
    const item = items[place];
    if (isJsonObject(item) && ownValue(item, key) === value) return place;
  }
  return -1;
}

/** Deletes items in place, like upstream. Returns the number of remaining items. */
function removeByKey(items: Json[], length: number, key: string, value: Json): number {
  let remaining = length;
  let place = findByKey(items, remaining, key, value);
  while (place >= 0) {
    items.copyWithin(place, place + 1, remaining);
    remaining--;
    place = findByKey(items, remaining, key, value);
  }
  return remaining;
}

/** Returns the type that all items have, or an error text. Mirrors upstream sliceElementType. */
function elementType(items: Json[]): Result<string> {
  const [first, ...others] = items;
  if (first === undefined) return failure("no elements in any of the given slices");
  const type = typeName(first);
  if (type === "list") return failure("lists of lists are not supported");
  if (type === "null" || others.some((item) => typeName(item) !== type)) {
    return failure(`list element types are not identical: ${JSON.stringify(items)}`);
  }
  return success(type);
}

/** Returns the name of the Go type that a value is decoded to. */
function typeName(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** Orders a merged list by `patchOrder`, and other items by `serverOrder`. Mirrors upstream normalizeElementOrder. */
function orderMerged(merged: Json[], patchOrder: Json[], serverOrder: Json[], key: string | null): Json[] {
  const wanted = ranks(patchOrder, key);
  const patched = merged.filter((item) => wanted.has(identity(item, key)));
  const serverOnly = merged.filter((item) => !wanted.has(identity(item, key)));
  return interleave(
    sortByOrder(serverOnly, serverOrder, key),
    sortByOrder(patched, patchOrder, key),
    ranks(serverOrder, key),
    key,
  );
}

/** Puts each item of `left` before the first of `right` that follows it on the server. Mirrors mergeSortedSlice. */
function interleave(left: Json[], right: Json[], serverRank: Map<Json, number>, key: string | null): Json[] {
  const result: Json[] = [];
  let next = 0;
  for (const item of right) {
    const rank = serverRank.get(identity(item, key));
    while (next < left.length) {
      const leftRank = serverRank.get(identity(left[next], key));
      if (rank === undefined || leftRank === undefined || leftRank >= rank) break;
      result.push(left[next++]!);
    }
    result.push(item);
  }
  return [...result, ...left.slice(next)];
}

/** The directive that lists the keys to keep. */
const RETAIN_KEYS = "$retainKeys";

/** Returns the field of a key `$prefix/field`, or null if the key has another form. Mirrors upstream extractKey. */
function withoutPrefix(key: string, prefix: string): string | null {
  return key.startsWith(`${prefix}/`) ? key.slice(prefix.length + 1) : null;
}

/** Returns true if the item has this directive, or any directive if `directive` is undefined. */
function isDirective(item: Json, directive?: string): boolean {
  const found = isJsonObject(item) ? ownValue(item, DIRECTIVE) : undefined;
  return directive === undefined ? found !== undefined : found === directive;
}

function unknownDirective(patch: Json, directive: Json): string {
  return `unknown patch type: ${JSON.stringify(directive)} in map: ${JSON.stringify(patch)}`;
}

/** Returns the value without null fields at any depth. Mirrors upstream discardNullValuesFromPatch. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const fields: [string, Json][] = [];
  for (const [key, field] of Object.entries(value)) {
    if (field !== null && field !== undefined) fields.push([key, withoutNulls(field)]);
  }
  return Object.fromEntries(fields);
}

/** Returns the value without directives, or undefined if it is a directive. Mirrors upstream removeDirectives. */
function withoutDirectives(value: Json): Json | undefined {
  if (Array.isArray(value)) return itemsWithoutDirectives(value);
  if (!isJsonObject(value)) return value;
  if (isDirective(value)) return undefined;
  const fields: [string, Json][] = [];
  for (const [key, field] of Object.entries(value)) {
    const kept = field === undefined ? undefined : withoutDirectives(field);
    if (kept !== undefined) fields.push([key, kept]);
  }
  return Object.fromEntries(fields);
}

function itemsWithoutDirectives(items: Json[]): Json[] {
  return items.map(withoutDirectives).filter((item) => item !== undefined);
}
