// Merges lists for a strategic merge patch: sets of scalars, and objects with a key. Mirrors mergeSlice of
// apimachinery/pkg/util/strategicpatch, with its directives (`$patch` and others) and its order.
import { isJsonObject, type Json, type JsonObject, ownValue } from "../../../../shared/kubernetes/json.ts";
import { DIRECTIVE } from "../../../../shared/kubernetes/patch/directives.ts";
import {
  identity,
  missingMergeKey,
  noMergeKey,
  ranks,
  sortByOrder,
  withoutDuplicates,
} from "../../../../shared/kubernetes/patch/list-order.ts";
import type { ListSchema, StructSchema } from "../../../../shared/kubernetes/patch/schema.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";

/** A merged list. `memory` is the original list as upstream's merge overwrites it, for the server's order. */
export interface MergedList {
  merged: Json[];
  memory: Json[];
}

/** Merges two list items that have the same key. */
type MergeItem = (current: JsonObject, change: JsonObject, schema: StructSchema) => Result<JsonObject>;

/** Merges two lists that are not atomic. With `isDeletion`, `change` has the scalars to delete from `current`. */
export function mergeLists(
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

/** Deletes from `memory` as the patch demands, and returns items to merge. Mirrors mergeSliceWithSpecialElements. */
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
export function elementType(items: Json[]): Result<string> {
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
export function typeName(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** Orders a merged list by `patchOrder`, and other items by `serverOrder`. Mirrors upstream normalizeElementOrder. */
export function orderMerged(
  merged: Json[],
  patchOrder: Json[],
  serverOrder: Json[],
  key: string | null,
): Json[] {
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
export const RETAIN_KEYS = "$retainKeys";

/** Returns the field of a key `$prefix/field`, or null if the key has another form. Mirrors upstream extractKey. */
export function withoutPrefix(key: string, prefix: string): string | null {
  return key.startsWith(`${prefix}/`) ? key.slice(prefix.length + 1) : null;
}

/** Returns true if the item has this directive, or any directive if `directive` is undefined. */
export function isDirective(item: Json, directive?: string): boolean {
  const found = isJsonObject(item) ? ownValue(item, DIRECTIVE) : undefined;
  return directive === undefined ? found !== undefined : found === directive;
}

export function unknownDirective(patch: Json, directive: Json): string {
  return `unknown patch type: ${JSON.stringify(directive)} in map: ${JSON.stringify(patch)}`;
}

/** Returns the value without null fields at any depth. Mirrors upstream discardNullValuesFromPatch. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const fields: [string, Json][] = [];
  for (const [key, field] of Object.entries(value)) {
    if (field !== null && field !== undefined) fields.push([key, withoutNulls(field)]);
  }
  return Object.fromEntries(fields);
}

/** Returns the value without directives, or undefined if it is a directive. Mirrors upstream removeDirectives. */
export function withoutDirectives(value: Json): Json | undefined {
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

export function itemsWithoutDirectives(items: Json[]): Json[] {
  return items.map(withoutDirectives).filter((item) => item !== undefined);
}
