// Merges a configuration into an object for server-side apply, and decides which manager owns which field. The
// result shares unchanged parts with the object. Mirrors structured-merge-diff's merge.Updater.Apply, typed.merge,
// TypedValue.RemoveItems, TypedValue.ToFieldSet and Set.EnsureNamedFieldsAreMembers.
import {
  isJsonObject,
  type Json,
  jsonEqual,
  type JsonObject,
  ownValue,
} from "../../../../shared/kubernetes/json.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";
import { type ApiObject, asJson, fieldsOf, listOf } from "../object.ts";
import { compareObjects, hasItems } from "./compare.ts";
import {
  type FieldWrite,
  isSameManager,
  ofSomething,
  ofVersion,
  type Owned,
  resetFields,
  trackedTypeOf,
  withoutReset,
  withoutUnowned,
} from "./managers.ts";
import {
  fieldElement,
  fieldOf,
  type FieldSchema,
  isLeaf,
  itemElement,
  type ListFields,
  type MapFields,
} from "./schema.ts";
import * as sets from "./set.ts";

interface Merged {
  /** The merged object, or the live object if nothing changes. */
  object: JsonObject;
  managers: Owned[];
}

/** The names of the managers that own fields whose values the configuration changes. */
type Conflict = string[];

/** Removes the last configuration's fields that no manager owns now. Mirrors addBackOwnedItems. */
function prune(
  merged: JsonObject,
  last: sets.FieldSet,
  managers: readonly Owned[],
  schema: MapFields,
): JsonObject {
  const named = (set: sets.FieldSet) => withNamedFields(set, schema);
  const all = named(fieldsOfMap(merged, schema));
  const without = removeFields(merged, named(last), schema);
  const owned = managers.reduce((set, { fields }) => sets.union(set, fields), sets.emptySet);
  const kept = sets.union(named(fieldsOfMap(without, schema)), named(owned));
  const pruned = removeFields(merged, sets.difference(all, kept), schema);
  const gone = sets.difference(all, named(fieldsOfMap(pruned, schema)));
  return removeFields(merged, sets.intersection(gone, named(last)), schema);
}

/** Sets the fields of the applier's entry to those of its configuration. The entry's time stays. */
function withConfiguration(write: FieldWrite, managers: readonly Owned[], config: JsonObject): Owned[] {
  const { type, writer } = write;
  const all = fieldsOfMap(config, trackedTypeOf(type).schema);
  const fields = sets.inOrder(sets.recursiveDifference(all, resetFields(type, writer.subresource)));
  const previous = managers.find((owned) => isSameManager(owned, writer));
  const own = { ...writer, time: previous?.time ?? "", fields };
  return [...managers.filter((owned) => owned !== previous), own];
}

interface Ownership {
  write: FieldWrite;
  managers: readonly Owned[];
  force: boolean;
}

/** Takes the changed fields from other managers, or without `force` fails with a conflict. Mirrors Updater.update. */
function managersAfter(
  { write, managers, force }: Ownership,
  live: ApiObject,
  object: ApiObject,
): Result<Owned[], Conflict> {
  const compared = compareObjects(asJson(live), asJson(object), trackedTypeOf(write.type).schema);
  const { changed, removed } = withoutReset(write, compared);
  const conflict = new Set<string>();
  const after = managers.map((owned) => {
    if (isSameManager(owned, write.writer)) return owned;
    const contested = sets.intersection(owned.fields, changed);
    if (!sets.isEmptySet(contested)) conflict.add(owned.manager);
    return { ...owned, fields: sets.difference(sets.difference(owned.fields, contested), removed) };
  });
  return conflict.size > 0 && !force ? failure([...conflict]) : success(ofSomething(after));
}

/** Applies a configuration to an object. `config` must fit the type's schema. */
export function mergeConfiguration(
  write: FieldWrite,
  allManagers: readonly Owned[],
  live: ApiObject,
  config: JsonObject,
  force: boolean,
): Result<Merged, Conflict> {
  const { schema } = trackedTypeOf(write.type);
  const managers = ofVersion(write, allManagers);
  const last = managers.find((owned) => isSameManager(owned, write.writer));
  const claimed = withConfiguration(write, managers, config);
  const combined = mergeMaps(asJson(live), config, schema) ?? {};
  const result =
    last && !sets.isEmptySet(last.fields) ? prune(combined, last.fields, claimed, schema) : combined;
  // The merged object keeps the live object's metadata, so it is an ApiObject.
  const object = result as unknown as ApiObject;
  const after = managersAfter({ write, managers: claimed, force }, live, object);
  if (!after.ok) return after;
  const isUnchanged = jsonEqual(asJson(live), result);
  const owners = after.value.map((owned) => {
    if (!isSameManager(owned, write.writer)) return owned;
    return withoutUnowned(isUnchanged ? owned : { ...owned, time: write.time });
  });
  return success({ object: isUnchanged ? asJson(live) : result, managers: ofSomething(owners) });
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
  /** The list's items by element. null for an element that occurs twice, which is not merged. */
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

/** Merges two lists like visitListItems: `config` keeps its order, and items of `live` alone keep their places. */
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

/** Merges two values. A leaf takes the configuration's value, if there is one. Mirrors mergingWalker.merge. */
function mergeValues(
  live: Json | undefined,
  config: Json | undefined,
  schema: FieldSchema,
): Json | undefined {
  if (schema.kind === "scalar" || isLeaf(schema) || !(hasItems(live) || hasItems(config)))
    return config === undefined ? live : config;
  if (schema.kind === "map") return mergeMaps(fieldsOf(live), fieldsOf(config), schema);
  const items = mergeLists(indexList(listOf(live), schema), indexList(listOf(config), schema), schema);
  return items.length > 0 ? items : undefined;
}

function removeFromMap(object: JsonObject, fields: sets.FieldSet, schema: MapFields): JsonObject | undefined {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(object)) {
    const removed = fields[fieldElement(name)];
    if (value === undefined || sets.isMember(removed)) continue;
    const field = fieldOf(schema, name);
    const rest = removed && field ? removeBelow(value, removed, field) : value;
    result[name] = rest ?? null;
  }
  return Object.keys(result).length > 0 ? result : undefined;
}

function removeFromList(list: Json[], fields: sets.FieldSet, schema: ListFields): Json[] | undefined {
  const result: Json[] = [];
  for (const item of list) {
    const element = itemElement(schema, item);
    const removed = element === undefined ? undefined : fields[element];
    if (sets.isMember(removed)) continue;
    result.push(removed ? (removeBelow(item, removed, schema.item) ?? null) : item);
  }
  return result.length > 0 ? result : undefined;
}

function removeBelow(value: Json, fields: sets.FieldSet, schema: FieldSchema): Json | undefined {
  if (schema.kind === "scalar") return value;
  if (isLeaf(schema)) return undefined;
  if (schema.kind === "list") return Array.isArray(value) ? removeFromList(value, fields, schema) : undefined;
  return isJsonObject(value) ? removeFromMap(value, fields, schema) : undefined;
}

/** Returns the object without these fields. A map or list that becomes empty is null, but the object itself is {}. */
function removeFields(object: JsonObject, fields: sets.FieldSet, schema: MapFields): JsonObject {
  return sets.isEmptySet(fields) ? object : (removeFromMap(object, fields, schema) ?? {});
}

/** Returns the schema of the field or item that an element names, or undefined if the schema has none. */
function schemaBelow(schema: FieldSchema | undefined, element: string): FieldSchema | undefined {
  if (schema?.kind === "map" && element.startsWith("f:")) return fieldOf(schema, element.slice(2));
  return schema?.kind === "list" && element.startsWith("k:") ? schema.item : undefined;
}

/** Adds to the set each struct field that is not a member but has a member below it. */
function withNamedFields(set: sets.FieldSet, schema: FieldSchema | undefined): sets.FieldSet {
  const result: sets.FieldSet = {};
  for (const [element, below] of Object.entries(set)) {
    const isNamed = schema?.kind === "map" && element.startsWith("f:") && schema.fields.has(element.slice(2));
    const children = withNamedFields(below, schemaBelow(schema, element));
    result[element] =
      isNamed && !sets.isEmptySet(children) && !(sets.self in children)
        ? { [sets.self]: sets.leaf, ...children }
        : children;
  }
  return result;
}

/** Makes the set below an element. undefined if neither the element nor a part of it is owned. */
function node(isOwned: boolean, below: sets.FieldSet | undefined): sets.FieldSet | undefined {
  if (!below || sets.isEmptySet(below)) return isOwned ? sets.leaf : undefined;
  return isOwned ? { [sets.self]: sets.leaf, ...below } : below;
}

/** Returns the fields that a configuration owns: leaves, keys of maps, and values that are null or an empty map. */
function fieldsOfMap(object: JsonObject, schema: MapFields): sets.FieldSet {
  const set: sets.FieldSet = {};
  for (const [name, value] of Object.entries(object)) {
    const field = fieldOf(schema, name);
    if (value === undefined || !field) continue;
    const isOwned = value === null || (isJsonObject(value) && !hasItems(value)) || !schema.fields.has(name);
    const found = node(isOwned || isLeaf(field), fieldsBelow(value, field));
    if (found) set[fieldElement(name)] = found;
  }
  return set;
}

/** Returns the items that a configuration owns, with their fields. An item whose element occurs twice has no fields. */
function fieldsOfList(list: Json[], schema: ListFields): sets.FieldSet {
  const set: sets.FieldSet = {};
  for (const item of list) {
    const element = itemElement(schema, item);
    if (element === undefined) continue;
    const isRepeated = Object.hasOwn(set, element);
    set[element] = (isRepeated ? undefined : node(true, fieldsBelow(item, schema.item))) ?? sets.leaf;
  }
  return set;
}

function fieldsBelow(value: Json, schema: FieldSchema): sets.FieldSet | undefined {
  if (isLeaf(schema)) return undefined;
  if (schema.kind === "list") return Array.isArray(value) ? fieldsOfList(value, schema) : undefined;
  return schema.kind === "map" && isJsonObject(value) ? fieldsOfMap(value, schema) : undefined;
}
