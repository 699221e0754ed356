// Finds the fields in which two objects of a type differ. Mirrors structured-merge-diff's typed.Comparison.
import {
  isJsonObject,
  type Json,
  type JsonObject,
  jsonEqual,
  ownValue,
} from "../../../../shared/kubernetes/json.ts";
import { fieldsOf, listOf } from "../object.ts";
import {
  fieldElement,
  fieldOf,
  type FieldSchema,
  isLeaf,
  itemElement,
  type ListFields,
  type MapFields,
} from "./schema.ts";
import { emptySet, type FieldSet, leaf, self } from "./set.ts";

export interface Comparison {
  /** The fields that only the second object has, or whose values differ. */
  changed: FieldSet;
  /** The fields that only the first object has. */
  removed: FieldSet;
}

/** The differences on one level of two objects. A set is absent until it has a field. */
interface Differences {
  changed?: FieldSet;
  removed?: FieldSet;
}

const changedLeaf: Differences = { changed: leaf };
const removedLeaf: Differences = { removed: leaf };
const nothing: Differences = {};

function compareLeaf(left: Json | undefined, right: Json | undefined): Differences {
  if (right === undefined) return removedLeaf;
  return left !== undefined && jsonEqual(left, right) ? nothing : changedLeaf;
}

function add(level: Differences, element: string, { changed, removed }: Differences): void {
  if (changed) (level.changed ??= {})[element] = changed;
  if (removed) (level.removed ??= {})[element] = removed;
}

/** Returns true for an object with at least one field, or a list with at least one item. */
export function hasItems(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isJsonObject(value)) for (const _ in value) return true;
  return false;
}

function compareFields(left: JsonObject, right: JsonObject, schema: MapFields): Differences {
  const level: Differences = {};
  const compareField = (name: string) => {
    const [old, next] = [ownValue(left, name), ownValue(right, name)];
    const field = fieldOf(schema, name);
    if (old === next || !field) return;
    add(level, fieldElement(name), compareValues(old, next, field));
  };
  for (const name in left) compareField(name);
  for (const name in right) if (!Object.hasOwn(left, name)) compareField(name);
  return level;
}

type ItemsByElement = Map<string, Json[]>;

/** Groups a list's items by their path elements. Like upstream, accepts two stored items of one element. */
function itemsByElement(list: Json | undefined, schema: ListFields): ItemsByElement {
  const items: ItemsByElement = new Map();
  for (const item of listOf(list)) {
    const element = itemElement(schema, item);
    if (element === undefined) continue;
    const same = items.get(element);
    if (same) same.push(item);
    else items.set(element, [item]);
  }
  return items;
}

/** Compares the items of one element. Several items with one element are compared and owned as a whole. */
function compareItems(left: Json[], right: Json[], schema: FieldSchema): Differences {
  const [old, next] = [left[0], right[0]];
  if (left.length <= 1 && right.length <= 1) return compareValues(old, next, schema);
  if (left.length > 1 && right.length > 1) return jsonEqual(left, right) ? nothing : changedLeaf;
  if (left.length > 1) {
    const added = next === undefined ? nothing : compareValues(undefined, next, schema);
    return { ...added, removed: leaf };
  }
  const removed = old === undefined ? nothing : compareValues(old, undefined, schema);
  return { ...removed, changed: leaf };
}

function compareLists(left: Json | undefined, right: Json | undefined, schema: ListFields): Differences {
  const level: Differences = {};
  const [olds, nexts] = [itemsByElement(left, schema), itemsByElement(right, schema)];
  for (const [element, old] of olds) {
    add(level, element, compareItems(old, nexts.get(element) ?? [], schema.item));
  }
  for (const [element, next] of nexts) {
    if (!olds.has(element)) add(level, element, compareItems([], next, schema.item));
  }
  return level;
}

/** Adds the map or list itself to the differences if only one of the objects has it. */
function withOwn(level: Differences, left: Json | undefined, right: Json | undefined): Differences {
  if (left === undefined) return { ...level, changed: { [self]: leaf, ...level.changed } };
  if (right === undefined) return { ...level, removed: { [self]: leaf, ...level.removed } };
  return level;
}

/** Compares two values by their schema. Mirrors compareWalker.compare. */
function compareValues(left: Json | undefined, right: Json | undefined, schema: FieldSchema): Differences {
  if (schema.kind === "scalar" || isLeaf(schema) || !(hasItems(left) || hasItems(right)))
    return compareLeaf(left, right);
  const level =
    schema.kind === "list"
      ? compareLists(left, right, schema)
      : compareFields(fieldsOf(left), fieldsOf(right), schema);
  return withOwn(level, left, right);
}

/** Compares two objects. Ignores list items without an element. */
export function compareObjects(left: JsonObject, right: JsonObject, schema: MapFields): Comparison {
  const { changed = emptySet, removed = emptySet } = compareFields(left, right, schema);
  return { changed, removed };
}
