// metadata.managedFields: entries, who they belong to, and their order. Mirrors apimachinery's
// managedfields/internal (managedfields.go). Pure; compares no objects.
import { jsonEqual } from "../../../../shared/kubernetes/json.ts";
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import { emptySet, type FieldSet } from "./set.ts";

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
export type ManagedFieldsEntry = NonNullable<ObjectMeta["managedFields"]>[number];

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
