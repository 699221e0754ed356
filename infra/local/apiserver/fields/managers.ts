// metadata.managedFields: entries, who they belong to, and their order and number. Mirrors apimachinery's
// managedfields/internal (managedfields.go, capmanagers.go). Pure; compares no objects.
import { jsonEqual } from "../../../../shared/kubernetes/json.ts";
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import { emptySet, type FieldSet, union } from "./set.ts";

/** Who writes: an entry is unique by these, an applier's whatever its apiVersion. */
export interface FieldManager {
  manager: string;
  operation: "Update" | "Apply";
  apiVersion: string;
  subresource: string;
}

/** An entry that was read: its owner, its fields, and when it last changed (RFC 3339; "" when nobody knows). */
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

/** BuildManagerIdentifier: what upstream sorts managers by. */
function managerIdentifier({ manager, operation, apiVersion, subresource }: FieldManager): string {
  return JSON.stringify({
    ...(manager !== "" && { manager }),
    operation,
    ...(operation === "Update" && { apiVersion }),
    ...(subresource !== "" && { subresource }),
  });
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

const maxUpdateManagers = 10;
const oldUpdatesManager = "ancient-changes";

/** capUpdateManagers: the oldest updaters of a version become one, until there are not too many. */
export function capManagers(managers: Owned[]): Owned[] {
  const updaters = managers.filter(({ operation }) => operation === "Update");
  let excess = updaters.length - maxUpdateManagers;
  if (excess <= 0) return managers;
  const oldestFirst = updaters.toSorted(
    (left, right) =>
      secondsOf(left) - secondsOf(right) || byText(managerIdentifier(left), managerIdentifier(right)),
  );
  let kept = managers;
  const firsts = new Map<string, Owned>();
  for (const owned of oldestFirst) {
    if (excess === 0) break;
    const first = firsts.get(owned.apiVersion);
    if (!first) {
      firsts.set(owned.apiVersion, owned);
      continue;
    }
    const { apiVersion, time } = owned;
    const identity = {
      manager: oldUpdatesManager,
      operation: "Update",
      apiVersion,
      subresource: "",
    } as const;
    const bucket = kept.find((other) => isSameManager(other, identity)) ?? first;
    const merged = { ...identity, time, fields: union(owned.fields, bucket.fields) };
    kept = [...kept.filter((other) => other !== owned && other !== bucket), merged];
    excess--;
  }
  return kept;
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
