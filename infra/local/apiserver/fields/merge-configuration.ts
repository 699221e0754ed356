// Merging an applied configuration into an object, and who owns what after it. Mirrors structured-merge-diff's
// merge.Updater.Apply. Pure; knows no request and no Status.
import { type JsonObject, jsonEqual } from "../../../../shared/kubernetes/json.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";
import { type ApiObject, asJson } from "../object.ts";
import { compareObjects } from "./compare.ts";
import { isSameManager, type Owned } from "./managers.ts";
import {
  type FieldWrite,
  ofSomething,
  ofVersion,
  withoutReset,
  withoutUnowned,
} from "./managers-after-update.ts";
import { mergeObjects } from "./merge.ts";
import { fieldsOfObject } from "./of-object.ts";
import { removeFields, withNamedFields } from "./remove.ts";
import type { MapFields } from "./schema.ts";
import {
  difference,
  emptySet,
  type FieldSet,
  inOrder,
  intersection,
  isEmptySet,
  recursiveDifference,
  union,
} from "./set.ts";
import { resetFields, trackedTypeOf } from "./tracked-type.ts";

export interface Merged {
  /** The object with the configuration in it; the live one when that changes nothing. */
  object: JsonObject;
  managers: Owned[];
}

/** The managers that own fields which the configuration has with other values. */
export type Conflict = string[];

/** addBackOwnedItems and addBackDanglingItems: what the last configuration had goes, unless others own it. */
function prune(
  merged: JsonObject,
  last: FieldSet,
  managers: readonly Owned[],
  schema: MapFields,
): JsonObject {
  const named = (set: FieldSet) => withNamedFields(set, schema);
  const all = named(fieldsOfObject(merged, schema));
  const without = removeFields(merged, named(last), schema);
  const owned = managers.reduce((set, { fields }) => union(set, fields), emptySet);
  const kept = union(named(fieldsOfObject(without, schema)), named(owned));
  const pruned = removeFields(merged, difference(all, kept), schema);
  const gone = difference(all, named(fieldsOfObject(pruned, schema)));
  return removeFields(merged, intersection(gone, named(last)), schema);
}

/** The applier's entry with the fields of its configuration; its time is the one it had. */
function withConfiguration(write: FieldWrite, managers: readonly Owned[], config: JsonObject): Owned[] {
  const { type, writer } = write;
  const all = fieldsOfObject(config, trackedTypeOf(type).schema);
  const fields = inOrder(recursiveDifference(all, resetFields(type, writer.subresource)));
  const previous = managers.find((owned) => isSameManager(owned, writer));
  const own = { ...writer, time: previous?.time ?? "", fields };
  return [...managers.filter((owned) => owned !== previous), own];
}

interface Ownership {
  write: FieldWrite;
  managers: readonly Owned[];
  force: boolean;
}

/** Updater.update: the others lose what is now different, unless they are in conflict over it. */
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
    const contested = intersection(owned.fields, changed);
    if (!isEmptySet(contested)) conflict.add(owned.manager);
    return { ...owned, fields: difference(difference(owned.fields, contested), removed) };
  });
  return conflict.size > 0 && !force ? failure([...conflict]) : success(ofSomething(after));
}

/** `config` has to fit the type's schema. */
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
  const combined = mergeObjects(asJson(live), config, schema);
  const result = last && !isEmptySet(last.fields) ? prune(combined, last.fields, claimed, schema) : combined;
  // Merging leaves the live object's metadata in it.
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
