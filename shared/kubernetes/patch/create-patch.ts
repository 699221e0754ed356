// Makes the strategic merge patch that turns one object into another, like apimachinery/pkg/util/strategicpatch. No
// function changes its arguments. The patch shares values with the modified object.
import { isJsonObject, type Json, jsonEqual, type JsonObject, ownValue } from "../json.ts";
import { identity, missingMergeKey, sortByOrder, withoutDuplicates } from "./list-order.ts";
import { DELETE_FROM_LIST, DIRECTIVE, SET_ELEMENT_ORDER } from "./directives.ts";
import { fieldSchema, type ListSchema, type PatchSchema, type StructSchema } from "./schema.ts";
import { canonicalQuantity, isEmpty, knownField, present, wireForm } from "./wire-form.ts";
import { failure, type Result, success } from "../../result.ts";

/**
 * Returns the patch from `original` to `modified`, `{}` if they are equal (upstream CreateTwoWayMergePatch,
 * diffMaps). A field that Go leaves out of JSON counts as absent in both objects.
 */
export function createStrategicMergePatch(
  original: JsonObject,
  modified: JsonObject,
  schema: PatchSchema,
): Result<JsonObject> {
  const patch: JsonObject = {};
  for (const key in modified) {
    const error = diffField(patch, key, original, modified, schema);
    if (error !== null) return failure(error);
  }
  for (const key in original) {
    const field = knownField(schema, key);
    const after = present(ownValue(modified, key), field);
    const isGone = present(original[key], field) !== undefined && after === undefined;
    if (isGone) patch[key] = null;
  }
  return success(patch);
}

/** Adds the difference in one field to the patch. Returns an error's text; null if it succeeds. */
function diffField(
  patch: JsonObject,
  key: string,
  original: JsonObject,
  modified: JsonObject,
  schema: PatchSchema,
): string | null {
  const field = knownField(schema, key);
  const before = present(ownValue(original, key), field);
  const after = present(modified[key], field);
  if (after === undefined) return null;
  if (before === undefined) patch[key] = wireForm(after, field);
  else if (Array.isArray(before) && Array.isArray(after)) return diffLists(patch, key, before, after, schema);
  else if (isJsonObject(before) && isJsonObject(after)) return diffObjects(patch, key, before, after, schema);
  else if (before !== after) patch[key] = wireForm(after, field);
  return null;
}

/** Adds the difference between two objects to the patch (upstream handleMapDiff). */
function diffObjects(
  patch: JsonObject,
  key: string,
  before: JsonObject,
  after: JsonObject,
  schema: PatchSchema,
): string | null {
  const found = fieldSchema(schema, key);
  if (!found.ok) return jsonEqual(before, after) ? null : found.error;
  const field = found.value;
  const changes =
    field.kind === "map" && field.quantities
      ? success(diffQuantities(before, after))
      : createStrategicMergePatch(before, after, field);
  if (!changes.ok) return changes.error;
  if (!isEmpty(changes.value)) patch[key] = changes.value;
  return null;
}

function diffQuantities(before: JsonObject, after: JsonObject): JsonObject {
  const patch: JsonObject = {};
  if (before === after) return patch;
  for (const name in after) {
    if (before[name] === after[name]) continue;
    const quantity = canonicalQuantity(after[name]);
    if (quantity !== canonicalQuantity(ownValue(before, name))) patch[name] = quantity;
  }
  for (const name in before) if (ownValue(after, name) === undefined) patch[name] = null;
  return patch;
}

/** Adds the difference between two lists to the patch (upstream handleSliceDiff). */
function diffLists(
  patch: JsonObject,
  key: string,
  before: Json[],
  after: Json[],
  schema: PatchSchema,
): string | null {
  const found = fieldSchema(schema, key);
  if (!found.ok) return jsonEqual(before, after) ? null : found.error;
  const field = found.value;
  if (field.kind !== "list") return `expected slice or array type, but got: ${field.kind}`;
  if (field.merge === "set") diffSets(patch, key, before, after);
  else if (field.merge === "key")
    return before === after ? null : diffKeyed(patch, key, before, after, field);
  else if (!jsonEqual(before, after)) diffAtomic(patch, key, before, after, field);
  return null;
}

function diffAtomic(patch: JsonObject, key: string, before: Json[], after: Json[], field: ListSchema): void {
  const written = wireForm(after, field);
  if (!jsonEqual(wireForm(before, field), written)) patch[key] = written;
}

/**
 * Adds the difference between two sets of scalars to the patch (upstream diffListsOfScalars). Upstream sorts the
 * original in place, so a patch always contains the order of an unsorted list.
 */
function diffSets(patch: JsonObject, key: string, before: Json[], after: Json[]): void {
  const sorted = before.length === 1 ? before : before.toSorted(compareAsText);
  if (jsonEqual(sorted, after)) return;
  const added = after.toSorted(compareAsText).filter(unmatchedBy(before));
  const removed = sorted.filter(unmatchedBy(after));
  if (added.length > 0) patch[key] = sortByOrder(added, after, null);
  if (removed.length > 0) patch[`${DELETE_FROM_LIST}/${key}`] = withoutDuplicates(removed);
  patch[`${SET_ELEMENT_ORDER}/${key}`] = after;
}

function compareAsText(left: Json, right: Json): number {
  const [leftText, rightText] = [asText(left), asText(right)];
  return leftText < rightText ? -1 : leftText > rightText ? 1 : 0;
}

function asText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns a function that removes an item from a copy of `others`; true if the copy lacks the item. */
function unmatchedBy(others: Json[]): (item: Json) => boolean {
  const left = [...others];
  return (item) => {
    const place = left.indexOf(item);
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  };
}

/** Adds the difference between two keyed lists to the patch (upstream diffLists and diffListsOfMaps). */
function diffKeyed(
  patch: JsonObject,
  field: string,
  before: Json[],
  after: Json[],
  { key, item }: KeyedListSchema,
): string | null {
  const missing = missingMergeKey(key, before) ?? missingMergeKey(key, after);
  if (missing !== null) return missing;
  const changed = diffItems(sortByKey(before, key), sortByKey(after, key), key, item);
  if (!changed.ok) return changed.error;
  const { changes, deletions } = changed.value;
  const items = [...sortByOrder(changes, after, key), ...deletions];
  if (items.length > 0) patch[field] = items;
  if (items.length > 0 || !inSameOrder(before, after, key)) {
    patch[`${SET_ELEMENT_ORDER}/${field}`] = after.map((item) => ({ [key]: identity(item, key) }));
  }
  return null;
}

type KeyedListSchema = Extract<ListSchema, { merge: "key" }>;

/**
 * Sorts items by the text of their key. Items with equal keys are reversed, as Go's sort does with upstream's
 * comparison for up to 12 items. With more items, Go orders equal keys differently.
 */
function sortByKey(items: Json[], key: string): JsonObject[] {
  const reversed = items.filter(isJsonObject).reverse();
  return reversed.sort((left, right) => compareAsText(left[key] ?? null, right[key] ?? null));
}

function diffItems(
  before: JsonObject[],
  after: JsonObject[],
  key: string,
  schema: StructSchema,
): Result<{ changes: JsonObject[]; deletions: JsonObject[] }> {
  const changes: JsonObject[] = [];
  const deletions: JsonObject[] = [];
  let next = 0;
  for (const original of before) {
    const id = identity(original, key);
    while (next < after.length && compareAsText(identity(after[next], key), id) < 0)
      changes.push(wireForm(after[next++]!, schema));
    const modified = after[next];
    if (modified === undefined || identity(modified, key) !== id) {
      deletions.push({ [key]: id, [DIRECTIVE]: "delete" });
      continue;
    }
    next++;
    if (original === modified) continue;
    const changed = createStrategicMergePatch(original, modified, schema);
    if (!changed.ok) return changed;
    if (!isEmpty(changed.value)) changes.push({ ...changed.value, [key]: id });
  }
  changes.push(...after.slice(next).map((item) => wireForm(item, schema)));
  return success({ changes, deletions });
}

function inSameOrder(before: Json[], after: Json[], key: string): boolean {
  if (before.length !== after.length) return false;
  return after.every((item, index) => identity(item, key) === identity(before[index], key));
}
