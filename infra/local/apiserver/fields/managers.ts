// metadata.managedFields: its entries, their owners and their order, and the entries after a write that is no apply. Mirrors
// apimachinery's managedfields/internal and structured-merge-diff's merge.Updater.Update.
import { jsonEqual, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import { decodeObject } from "../kinds/decode.ts";
import { goTypeOf } from "../kinds/go-types.ts";
import { type ApiObject, asJson } from "../object.ts";
import { apiVersionOf, type ResourceType } from "../resource-type.ts";
import { resourceTypes } from "../resources.ts";
import { compareObjects, type Comparison } from "./compare.ts";
import { compileFieldSchema, type MapFields } from "./schema.ts";
import {
  difference,
  emptySet,
  type FieldSet,
  fieldSet,
  inOrder,
  isEmptySet,
  recursiveDifference,
  union,
} from "./set.ts";

/** The key of an entry. For an applier, apiVersion is not a part of it. */
export interface FieldManager {
  manager: string;
  operation: "Update" | "Apply";
  apiVersion: string;
  subresource: string;
}

/** A parsed entry. `time`: the last change in RFC 3339; "" if it is not known. */
export interface Owned extends FieldManager {
  time: string;
  fields: FieldSet;
}

/** An entry on the wire. */
type ManagedFieldsEntry = NonNullable<ObjectMeta["managedFields"]>[number];

const managerLengthLimit = 128;

/** Returns the query's fieldManager, or else the start of the User-Agent (prefixFromUserAgent). */
export function managerName(fieldManager: string | null, userAgent: string | null): string {
  if (fieldManager) return fieldManager;
  const [name = ""] = (userAgent ?? "").split("/");
  return name.replaceAll(/[^\x20-\x7e]/g, "").slice(0, managerLengthLimit) || "unknown";
}

export function isSameManager(left: FieldManager, right: FieldManager): boolean {
  return (
    left.manager === right.manager &&
    left.operation === right.operation &&
    left.subresource === right.subresource &&
    (left.operation === "Apply" || left.apiVersion === right.apiVersion)
  );
}

/** Parses entries that encodeManagers has made. */
export function readManagers(entries: readonly ManagedFieldsEntry[]): Owned[] {
  return entries.map((entry) => ({
    manager: entry.manager ?? "",
    operation: entry.operation === "Apply" ? "Apply" : "Update",
    apiVersion: entry.apiVersion ?? "",
    subresource: entry.subresource ?? "",
    time: entry.time ?? "",
    fields: (entry.fieldsV1 ?? emptySet) as FieldSet,
  }));
}

function secondsOf({ time }: Owned): number {
  return time === "" ? 0 : Date.parse(time);
}

function byText(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}

/** sortEncodedManagedFields */
function inOrderOfEntries(left: Owned, right: Owned): number {
  return (
    byText(left.operation, right.operation) ||
    secondsOf(left) - secondsOf(right) ||
    byText(left.manager, right.manager) ||
    byText(left.apiVersion, right.apiVersion) ||
    byText(left.subresource, right.subresource)
  );
}

/** Writes the entries for the wire; undefined if there are none. */
export function encodeManagers(managers: readonly Owned[]): ManagedFieldsEntry[] | undefined {
  if (managers.length === 0) return undefined;
  return managers
    .toSorted(inOrderOfEntries)
    .map(({ manager, operation, apiVersion, time, fields, subresource }) => ({
      ...(manager !== "" && { manager }),
      operation,
      apiVersion,
      ...(time !== "" && { time }),
      fieldsType: "FieldsV1",
      fieldsV1: fields,
      ...(subresource !== "" && { subresource }),
    }));
}

/** Returns true if the entries differ only in their times (IgnoreManagedFieldsTimestampsTransformer). */
export function isSameButTimes(
  left: readonly ManagedFieldsEntry[] | undefined,
  right: readonly ManagedFieldsEntry[] | undefined,
): boolean {
  if (left === undefined || right === undefined) return left === right;
  if (left.length !== right.length) return false;
  return left.every((entry, index) => {
    const { time: _, ...mine } = entry;
    const { time: __, ...theirs } = right[index]!;
    return jsonEqual(mine, theirs);
  });
}

/** The parts of a write that decide on ownership. */
export interface FieldWrite {
  type: ResourceType;
  writer: FieldManager;
  /** RFC 3339, whole seconds. */
  time: string;
}

/** stripMetaManager: fields that no manager owns. */
const unowned = fieldSet(
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ["metadata", "name"],
  ["metadata", "namespace"],
  ["metadata", "creationTimestamp"],
  ["metadata", "selfLink"],
  ["metadata", "uid"],
  ["metadata", "clusterName"],
  ["metadata", "generation"],
  ["metadata", "managedFields"],
  ["metadata", "resourceVersion"],
);

/** Removes the fields that no manager owns from an entry. */
export function withoutUnowned(owned: Owned): Owned {
  const fields = difference(owned.fields, unowned);
  return fields === owned.fields ? owned : { ...owned, fields };
}

/** Removes the fields from an entry that another manager has changed. */
function afterOther(owned: Owned, { changed, removed }: Comparison): Owned {
  const fields = difference(difference(owned.fields, changed), removed);
  return fields === owned.fields ? owned : { ...owned, fields };
}

/** Drops entries of other apiVersions, which this apiserver does not serve. */
export function ofVersion({ writer }: FieldWrite, managers: readonly Owned[]): Owned[] {
  return managers.filter(({ apiVersion }) => apiVersion === writer.apiVersion);
}

/** Removes the fields that the path does not write from a comparison. */
export function withoutReset(write: FieldWrite, { changed, removed }: Comparison): Comparison {
  const reset = resetFields(write.type, write.writer.subresource);
  return { changed: recursiveDifference(changed, reset), removed: recursiveDifference(removed, reset) };
}

/** Drops entries without fields. */
export function ofSomething(managers: readonly Owned[]): Owned[] {
  return managers.filter(({ fields }) => !isEmptySet(fields));
}

/** managedFieldsUpdater.Update: adds the changed fields to the writer's entry, with a new time. */
function withChanges(managers: Owned[], write: FieldWrite, { changed }: Comparison): Owned[] {
  const { writer, time } = write;
  const own = withoutUnowned({ ...writer, time, fields: inOrder(changed) });
  if (isEmptySet(own.fields)) return managers;
  const previous = managers.find((owned) => isSameManager(owned, writer));
  if (!previous) return [...managers, own];
  const merged = { ...own, fields: union(own.fields, previous.fields) };
  return managers.map((owned) => (owned === previous ? merged : owned));
}

/** Returns the entries after a write that changes `live` to `next`. */
export function managersAfterUpdate(
  write: FieldWrite,
  managers: Owned[],
  next: ApiObject,
  live: ApiObject,
): Owned[] {
  const { schema } = trackedTypeOf(write.type);
  const comparison = withoutReset(write, compareObjects(asJson(live), asJson(next), schema));
  const others = ofVersion(write, managers).map((owned) => afterOther(owned, comparison));
  return withChanges(ofSomething(others), write, comparison);
}

/** Returns an object of the type without any field set. */
export function unwritten(type: ResourceType): ApiObject {
  // The zero value of every kind has metadata.
  return trackedTypeOf(type).zero as unknown as ApiObject;
}

/**
 * Returns metadata.managedFields after a write of `next` over `live`; undefined: the object is new. `next` is the client's
 * object with its type's defaults and no other change. The function ignores its managedFields.
 */
export function managedFieldsAfterUpdate(
  write: FieldWrite,
  next: ApiObject,
  live: ApiObject | undefined,
): ManagedFieldsEntry[] | undefined {
  const before = readManagers(live?.metadata.managedFields ?? []);
  if (live && before.length === 0) return undefined;
  return encodeManagers(managersAfterUpdate(write, before, next, live ?? unwritten(write.type)));
}

interface TrackedType {
  schema: MapFields;
  /** The Go type's zero value on the wire: without defaults. */
  zero: JsonObject;
}

function trackedType(type: ResourceType): TrackedType {
  const goType = goTypeOf(type);
  const decoded = decodeObject({}, goType);
  const zero = { kind: type.kind, apiVersion: apiVersionOf(type), ...(decoded.ok && decoded.value.object) };
  return { schema: compileFieldSchema(goType), zero };
}

const trackedTypes = new Map(resourceTypes.map((type) => [type, trackedType(type)]));

export function trackedTypeOf(type: ResourceType): TrackedType {
  return trackedTypes.get(type) ?? trackedType(type);
}

const status = fieldSet(["status"]);
const spec = fieldSet(["spec"]);

/** GetResetFields of the strategies: the fields that a write through the path does not change. */
export function resetFields(type: ResourceType, subresource: string): FieldSet {
  if (!type.subresources?.some(({ name }) => name === "status")) return emptySet;
  return subresource === "status" ? spec : status;
}
