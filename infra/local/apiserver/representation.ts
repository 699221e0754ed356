// How an object or a list is shown: as it is, as a Table for `kubectl get`, or its metadata alone. Reads no store.
import { defaultColumns } from "./columns.ts";
import type { ObjectList } from "./list.ts";
import type { Negotiated } from "./negotiation.ts";
import type { ApiObject, ListItem, Outcome } from "./object.ts";
import type { Column, ResourceType } from "./resource-type.ts";
import * as refuse from "./status.ts";
import { apiVersionOf } from "./write.ts";

export interface Representation extends Pick<Negotiated, "form" | "version"> {
  /** "None", "Metadata" or "Object": what a Table's rows carry besides cells. */
  includeObject: string;
  /** Whether a Table says what its columns are. */
  headers: boolean;
}

const includable = new Set(["", "None", "Metadata", "Object"]);

/** The query's part of a representation (metav1.TableOptions). */
export function representationOf(
  { form, version }: Negotiated,
  query: URLSearchParams,
): Outcome<Representation> {
  const includeObject = query.get("includeObject") ?? "";
  if (form === "table" && !includable.has(includeObject)) {
    const why =
      `includeObject: Invalid value: ${JSON.stringify(includeObject)}: ` +
      "must be 'Metadata', 'Object', 'None', or empty";
    return { refused: refuse.badRequest(`Unable to convert to Table as requested: ${why}`) };
  }
  return { ok: { form, version, includeObject: includeObject || "Metadata", headers: true } };
}

function partialMetadata(object: ListItem, version: string): ApiObject {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata };
}

/** Without upstream's documentation of the field that the column shows. */
function columnDefinition({ name, type, format, priority }: Column) {
  return { name, type, format: format ?? "", description: "", priority: priority ?? 0 };
}

function rowObject(type: ResourceType, object: ListItem, { includeObject, version }: Representation) {
  if (includeObject === "None") return null;
  if (includeObject !== "Object") return partialMetadata(object, version);
  return { kind: type.kind, apiVersion: apiVersionOf(type), ...object };
}

function tableOf(
  type: ResourceType,
  objects: ListItem[],
  metadata: object,
  shown: Representation,
  now: Date,
): ApiObject {
  const columns = type.columns ?? defaultColumns;
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${shown.version}`,
    metadata,
    columnDefinitions: shown.headers ? columns.map(columnDefinition) : null,
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.cell(object, now)),
      object: rowObject(type, object, shown),
    })),
  };
}

/** An object as it was asked for; what cannot be shown so is shown as it is. */
export function showObject(
  type: ResourceType,
  object: ApiObject,
  shown: Representation,
  now: Date,
): ApiObject {
  if (shown.form === "metadata") return partialMetadata(object, shown.version);
  if (shown.form !== "table") return object;
  const { resourceVersion } = object.metadata;
  return tableOf(type, [object], { resourceVersion }, shown, now);
}

export function showList(type: ResourceType, list: ObjectList, shown: Representation, now: Date): object {
  if (shown.form === "table") return tableOf(type, list.items, list.metadata, shown, now);
  if (shown.form !== "metadataList") return list;
  const items = list.items.map((item) => partialMetadata(item, shown.version));
  const apiVersion = `meta.k8s.io/${shown.version}`;
  return { kind: "PartialObjectMetadataList", apiVersion, metadata: list.metadata, items };
}

/** A list has no metadata of one object, and one object none of a list. */
export function refuseForm({ form }: Representation, type: ResourceType, isList: boolean) {
  if (isList && form === "metadata") {
    return refuse.unsuitableForm("PartialObjectMetadata", `a list (*${packageOf(type)}.${type.kind}List)`);
  }
  if (isList || form !== "metadataList") return undefined;
  return refuse.unsuitableForm("PartialObjectMetadataList", `not a list (*${packageOf(type)}.${type.kind})`);
}

/** The Go package of a kind's internal type. */
function packageOf({ group }: ResourceType): string {
  const [name = ""] = group.split(".");
  return name === "" || name === "events" ? "core" : name;
}
