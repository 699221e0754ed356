// Reads and writes metadata.managedFields: the entries, their owners and order, and the entries after a write other
// than apply. Mirrors apimachinery's managedfields/internal and structured-merge-diff's merge.Updater.Update.
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

/** The key of an entry. apiVersion is a part of the key only for the operation `Update`. */
export interface FieldManager {
  manager: string;
  operation: "Update" | "Apply";
  apiVersion: string;
  subresource: string;
}

/** A parsed entry. `time` is its last change in RFC 3339, or "" if that is not known. */
export interface Owned extends FieldManager {
  time: string;
  fields: FieldSet;
}

/** An entry as clients and the store see it. */
type ManagedFieldsEntry = NonNullable<ObjectMeta["managedFields"]>[number];

const managerLengthLimit = 128;

/** Returns the query's fieldManager, or without one the start of the User-Agent. Mirrors prefixFromUserAgent. */
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

/** Parses entries that encodeManagers has written. */
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

/** Compares two entries for their order in metadata.managedFields. Mirrors sortEncodedManagedFields. */
function inOrderOfEntries(left: Owned, right: Owned): number {
  return (
    byText(left.operation, right.operation) ||
    secondsOf(left) - secondsOf(right) ||
    byText(left.manager, right.manager) ||
    byText(left.apiVersion, right.apiVersion) ||
    byText(left.subresource, right.subresource)
  );
}

/** Returns the entries for metadata.managedFields, or undefined if there are none. */
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

/** Returns true if two lists differ only in times. Mirrors IgnoreManagedFieldsTimestampsTransformer. */
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

/** The parts of a write that decide which manager owns a field. */
export interface FieldWrite {
  type: ResourceType;
  writer: FieldManager;
  /** The time of the write, in RFC 3339 with whole seconds. */
  time: string;
}

/** The fields that no manager owns. Mirrors stripMetaManager. */
const unownedMetadata =
  "name namespace creationTimestamp selfLink uid clusterName generation managedFields resourceVersion";
const unowned = fieldSet(
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ...unownedMetadata.split(" ").map((name) => ["metadata", name]),
);

/** Returns an entry without the fields that no manager may own. */
export function withoutUnowned(owned: Owned): Owned {
  const fields = difference(owned.fields, unowned);
  return fields === owned.fields ? owned : { ...owned, fields };
}

/** Returns an entry without the fields that another manager has changed or removed. */
function afterOther(owned: Owned, { changed, removed }: Comparison): Owned {
  const fields = difference(difference(owned.fields, changed), removed);
  return fields === owned.fields ? owned : { ...owned, fields };
}

/** Returns the entries of the writer's apiVersion. This apiserver does not serve others. */
export function ofVersion({ writer }: FieldWrite, managers: readonly Owned[]): Owned[] {
  return managers.filter(({ apiVersion }) => apiVersion === writer.apiVersion);
}

/** Returns a comparison without the fields that a write through this path leaves unchanged. */
export function withoutReset(write: FieldWrite, { changed, removed }: Comparison): Comparison {
  const reset = resetFields(write.type, write.writer.subresource);
  return { changed: recursiveDifference(changed, reset), removed: recursiveDifference(removed, reset) };
}

/** Returns the entries that have at least one field. */
export function ofSomething(managers: readonly Owned[]): Owned[] {
  return managers.filter(({ fields }) => !isEmptySet(fields));
}

/** Adds the changed fields to the writer's entry, and sets its time. Mirrors managedFieldsUpdater.Update. */
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
  // The type's zero value already has a `metadata` field, so it is an ApiObject.
  return trackedTypeOf(type).zero as unknown as ApiObject;
}

/**
 * Returns metadata.managedFields after a write of `next` over `live`, or over nothing if `live` is undefined.
 * `next` is the client's object with only its type's defaults added; its own managedFields are ignored.
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
  /** The JSON of the Go type's zero value, without defaults. */
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

/** Returns the fields that a write through this path does not change. Mirrors GetResetFields of the strategies. */
export function resetFields(type: ResourceType, subresource: string): FieldSet {
  if (!type.subresources?.some(({ name }) => name === "status")) return emptySet;
  return subresource === "status" ? spec : status;
}
