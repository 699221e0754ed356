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

/** Who writes: an entry is unique by these, an applier's whatever its apiVersion. */
export interface FieldManager {
  manager: string;
  operation: "Update" | "Apply";
  apiVersion: string;
  subresource: string;
}

/** An entry that was read: its owner, its fields, and when it last changed (RFC 3339; "" when that is not known). */
export interface Owned extends FieldManager {
  time: string;
  fields: FieldSet;
}

/** An entry on the wire. */
type ManagedFieldsEntry = NonNullable<ObjectMeta["managedFields"]>[number];

const managerLengthLimit = 128;

/** The manager's name: the query's fieldManager, or the start of the User-Agent (prefixFromUserAgent). */
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

/** Entries that encodeManagers made. */
export function readManagers(entries: readonly ManagedFieldsEntry[]): Owned[] {
  return entries.map((entry) => ({
    manager: entry.manager ?? "",
    operation: entry.operation === "Apply" ? "Apply" : "Update",
    apiVersion: entry.apiVersion ?? "",
    subresource: entry.subresource ?? "",
    time: entry.time ?? "",
    // Only encodeManagers wrote it.
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

/** The entries on the wire; undefined when there are none. */
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

/** Whether only times tell the entries apart (IgnoreManagedFieldsTimestampsTransformer). */
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

// managedFields after a write that is no apply. Mirrors apimachinery's managedfields/internal (FieldManager.Update and
// what it wraps) and structured-merge-diff's merge.Updater.Update. Pure.

/** A write as far as the ownership of fields goes. */
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

/** The entry without fields that no manager owns. */
export function withoutUnowned(owned: Owned): Owned {
  const fields = difference(owned.fields, unowned);
  return fields === owned.fields ? owned : { ...owned, fields };
}

/** What a manager still owns after another one has changed fields. */
function afterOther(owned: Owned, { changed, removed }: Comparison): Owned {
  const fields = difference(difference(owned.fields, changed), removed);
  return fields === owned.fields ? owned : { ...owned, fields };
}

/** Managers of fields in the version that is written: there is no other. */
export function ofVersion({ writer }: FieldWrite, managers: readonly Owned[]): Owned[] {
  return managers.filter(({ apiVersion }) => apiVersion === writer.apiVersion);
}

/** The comparison without the fields that the path does not write. */
export function withoutReset(write: FieldWrite, { changed, removed }: Comparison): Comparison {
  const reset = resetFields(write.type, write.writer.subresource);
  return { changed: recursiveDifference(changed, reset), removed: recursiveDifference(removed, reset) };
}

/** Managers without those that have nothing left. */
export function ofSomething(managers: readonly Owned[]): Owned[] {
  return managers.filter(({ fields }) => !isEmptySet(fields));
}

/** managedFieldsUpdater.Update: what the write changed goes to the writer's entry, with a new time. */
function withChanges(managers: Owned[], write: FieldWrite, { changed }: Comparison): Owned[] {
  const { writer, time } = write;
  const own = withoutUnowned({ ...writer, time, fields: inOrder(changed) });
  if (isEmptySet(own.fields)) return managers;
  const previous = managers.find((owned) => isSameManager(owned, writer));
  if (!previous) return [...managers, own];
  const merged = { ...own, fields: union(own.fields, previous.fields) };
  return managers.map((owned) => (owned === previous ? merged : owned));
}

/** Who owns what after `live` became `next`. */
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

/** An object of the type before its first write. */
export function unwritten(type: ResourceType): ApiObject {
  // The zero value of every kind has metadata.
  return trackedTypeOf(type).zero as unknown as ApiObject;
}

/**
 * metadata.managedFields after a write of `next` over `live` (undefined: it is created). `next` is the object as the
 * client wants it, with its type's defaults, before anything else is done to it; what it says of managedFields does not
 * count.
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

/** Strategies' GetResetFields: what a write through the path does not reach. */
export function resetFields(type: ResourceType, subresource: string): FieldSet {
  if (!type.subresources?.some(({ name }) => name === "status")) return emptySet;
  return subresource === "status" ? spec : status;
}
