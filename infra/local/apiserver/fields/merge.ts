// Merges an applied configuration into an object. Mirrors structured-merge-diff's typed.merge; pure: what the
// configuration leaves alone is shared with the object.
import { isJsonObject, type Json, type JsonObject, ownValue } from "../../../../shared/kubernetes/json.ts";
import { itemElement } from "./path-element.ts";
import { type FieldSchema, fieldOf, type ListFields, type MapFields } from "./schema.ts";

function hasItems(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isJsonObject(value) && Object.keys(value).length > 0;
}

function mergeMaps(live: JsonObject, config: JsonObject, schema: MapFields): JsonObject | undefined {
  const merged: JsonObject = { ...live };
  for (const [name, value] of Object.entries(config)) {
    const field = fieldOf(schema, name);
    if (value === undefined || !field) continue;
    const result = mergeValues(ownValue(live, name), value, field);
    if (result === undefined) delete merged[name];
    else merged[name] = result;
  }
  return hasItems(merged) ? merged : undefined;
}

interface IndexedList {
  elements: string[];
  items: Json[];
  /** By element; null for those that come twice, which are not merged with anything. */
  byElement: Map<string, Json>;
}

function indexList(list: Json[], schema: ListFields): IndexedList {
  const elements: string[] = [];
  const byElement = new Map<string, Json>();
  for (const item of list) {
    const element = itemElement(schema, item);
    if (element === undefined) continue;
    elements.push(element);
    byElement.set(element, byElement.has(element) ? null : item);
  }
  return { elements, items: list, byElement };
}

/**
 * The order of visitListItems: the configuration's own order for what it has, and what only the object has at the place
 * where it stands among the items that both have.
 */
function mergeLists(live: IndexedList, config: IndexedList, schema: ListFields): Json[] {
  const shared = config.elements.filter((element) => live.byElement.has(element));
  const merged = new Set<string>();
  const result: Json[] = [];
  let nextShared = 0;
  const take = (element: string) => {
    merged.add(element);
    const value = mergeValues(live.byElement.get(element), config.byElement.get(element), schema.item);
    if (value !== undefined) result.push(value);
  };
  let [left, right] = [0, 0];
  while (left < live.elements.length || right < config.elements.length) {
    const mine = live.elements[left];
    const theirs = config.elements[right];
    if (mine !== undefined && theirs !== undefined) {
      if (mine === theirs) {
        take(mine);
        left++;
        right++;
        nextShared++;
        continue;
      }
      if (config.byElement.has(mine) && nextShared < shared.length && shared[nextShared] !== mine) {
        left++;
        continue;
      }
    }
    if (mine !== undefined) {
      if (!config.byElement.has(mine)) {
        result.push(live.items[left] ?? null);
        left++;
        continue;
      }
      if (merged.has(mine)) left++;
    }
    if (theirs !== undefined) {
      take(theirs);
      right++;
      if (shared[nextShared] === theirs) nextShared++;
    }
  }
  return result;
}

/** mergingWalker.merge: a leaf is the configuration's when that has it. */
function mergeValues(
  live: Json | undefined,
  config: Json | undefined,
  schema: FieldSchema,
): Json | undefined {
  const isLeaf =
    schema.kind === "scalar" ||
    (schema.kind === "map" ? schema.atomic : schema.merge === "atomic") ||
    (!hasItems(live) && !hasItems(config));
  if (isLeaf) return config === undefined ? live : config;
  if (schema.kind === "list") {
    const lists = [live, config].map((list) => indexList(Array.isArray(list) ? list : [], schema));
    const items = mergeLists(lists[0]!, lists[1]!, schema);
    return items.length > 0 ? items : undefined;
  }
  return mergeMaps(isJsonObject(live) ? live : {}, isJsonObject(config) ? config : {}, schema);
}

/** `live` with what `config` says. Both have to fit the schema. */
export function mergeObjects(live: JsonObject, config: JsonObject, schema: MapFields): JsonObject {
  return mergeMaps(live, config, schema) ?? {};
}
