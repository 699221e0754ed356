// Merges two lists of a strategic merge patch: sets of scalars, and objects that are told apart by a key.
// Never changes its arguments. Mirrors mergeSlice of apimachinery/pkg/util/strategicpatch.
import { isJsonObject, type Json, type JsonObject, ownValue } from "../json.ts";
import { missingMergeKey, noMergeKey, orderMerged, withoutDuplicates } from "./list-order.ts";
import { DIRECTIVE, type Outcome, unknownDirective } from "./directives.ts";
import type { ListSchema, StructSchema } from "./schema.ts";

/**
 * A merged list, and what the memory of the original list holds afterwards: upstream merges in place, and then
 * takes that memory for the order the server had.
 */
export interface MergedList {
  merged: Json[];
  memory: Json[];
}

/** Merges one object of a list into the one that has the same key. */
export type MergeItem = (
  current: JsonObject,
  change: JsonObject,
  schema: StructSchema,
) => Outcome<JsonObject>;

/** Merges two lists that are not replaced as a whole; with `isDeletion`, `change` lists scalars to delete. */
export function mergeLists(
  current: Json[],
  change: Json[],
  list: ListSchema,
  isDeletion: boolean,
  mergeItem: MergeItem,
): Outcome<MergedList> {
  if (current.length === 0 && change.length === 0) return { result: { merged: current, memory: current } };
  const type = elementType([...current, ...change]);
  if ("error" in type) return type;
  if (type.result === "object") {
    if (list.merge !== "key") return { error: "cannot merge lists without merge key" };
    return mergeKeyedLists(current, change.filter(isJsonObject), list.key, (currentItem, item) =>
      mergeItem(currentItem, item, list.item),
    );
  }
  if (isDeletion) {
    const deleted = new Set(change);
    return { result: { merged: current.filter((item) => !deleted.has(item)), memory: current } };
  }
  if (list.merge === "key") return { error: `expected a map, but received a ${type.result}` };
  // Where `current` has duplicates already, upstream's order depends on the capacity Go gave the slice.
  const merged = withoutDuplicates([...current, ...change]);
  return { result: { merged: orderMerged(merged, change, current, null), memory: current } };
}

function mergeKeyedLists(
  current: Json[],
  change: JsonObject[],
  key: string,
  mergeItem: (current: JsonObject, change: JsonObject) => Outcome<JsonObject>,
): Outcome<MergedList> {
  const memory = [...current];
  const split = applyItemDirectives(memory, change, key);
  if ("error" in split) return split;
  const { remaining, additions, replaced } = split.result;
  const serverOrder = replaced ? additions : memory.slice(0, remaining);
  const missing = missingMergeKey(key, [...serverOrder, ...additions]);
  if (missing !== null) return { error: missing };
  if (replaced) return { result: { merged: orderMerged(additions, [], additions, key), memory } };
  let length = remaining;
  for (const addition of additions) {
    const place = findByKey(memory, length, key, ownValue(addition, key));
    const found = memory[place];
    if (!isJsonObject(found)) {
      memory[length++] = addition;
      continue;
    }
    const outcome = mergeItem(found, addition);
    if ("error" in outcome) return outcome;
    memory[place] = outcome.result;
  }
  const items = memory.slice(0, length);
  const lost = missingMergeKey(key, items);
  if (lost !== null) return { error: lost };
  const merged = orderMerged(items, additions, serverOrder, key);
  return { result: { merged, memory: memory.slice(0, current.length) } };
}

/** Deletes what the patch deletes from `memory` and lists what is left to merge (mergeSliceWithSpecialElements). */
function applyItemDirectives(
  memory: Json[],
  change: JsonObject[],
  key: string,
): Outcome<{ remaining: number; additions: JsonObject[]; replaced: boolean }> {
  const additions: JsonObject[] = [];
  let remaining = memory.length;
  let replaced = false;
  for (const item of change) {
    const directive = ownValue(item, DIRECTIVE);
    if (directive === undefined) additions.push(item);
    else if (directive === "replace") replaced = true;
    else if (directive === "delete") {
      const deleted = ownValue(item, key);
      if (deleted === undefined) return { error: noMergeKey(item, key) };
      remaining = removeByKey(memory, remaining, key, deleted);
    } else return { error: unknownDirective(item, directive) };
  }
  return { result: { remaining, additions, replaced } };
}

/** The place of the item with that key among the first `length`, or −1 (findMapInSliceBasedOnKeyValue). */
function findByKey(items: Json[], length: number, key: string, value: Json | undefined): number {
  for (let place = 0; place < length; place++) {
    const item = items[place];
    if (isJsonObject(item) && ownValue(item, key) === value) return place;
  }
  return -1;
}

/** Moves the items after a deleted one up, as upstream does in place; returns how many are left. */
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

/** The one type that all items have, or an error's text (upstream: sliceElementType). */
export function elementType(items: Json[]): Outcome<string> {
  const [first, ...others] = items;
  if (first === undefined) return { error: "no elements in any of the given slices" };
  const type = typeName(first);
  if (type === "list") return { error: "lists of lists are not supported" };
  if (type === "null" || others.some((item) => typeName(item) !== type)) {
    return { error: `list element types are not identical: ${JSON.stringify(items)}` };
  }
  return { result: type };
}

/** The type that Go decodes the value to. */
export function typeName(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return Number.isInteger(value) ? "integer" : typeof value;
}
