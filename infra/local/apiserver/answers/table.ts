// Renders an object or a list: unchanged, or as a Table for `kubectl get`.
import { defaultColumns } from "./columns.ts";
import type { ObjectList } from "../read/list.ts";
import type { Representation } from "./answer.ts";
import type { ApiObject, ListItem } from "../object.ts";
import { apiVersionOf, type Column, type ResourceType } from "../resource-type.ts";

const apiVersion = "meta.k8s.io/v1";

function columnDefinition({ name, type, format, priority }: Column) {
  return { name, type, format: format ?? "", description: "", priority: priority ?? 0 };
}

function rowObject(type: ResourceType, object: ListItem, { includeObject }: Representation) {
  if (includeObject === "None") return null;
  if (includeObject === "Object") return { kind: type.kind, apiVersion: apiVersionOf(type), ...object };
  return { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata };
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
    apiVersion,
    metadata,
    columnDefinitions: shown.headers ? columns.map(columnDefinition) : null,
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.cell(object, now)),
      object: rowObject(type, object, shown),
    })),
  };
}

export function showObject(
  type: ResourceType,
  object: ApiObject,
  shown: Representation,
  now: Date,
): ApiObject {
  if (shown.form === "object") return object;
  const { resourceVersion } = object.metadata;
  return tableOf(type, [object], { resourceVersion }, shown, now);
}

export function showList(type: ResourceType, list: ObjectList, shown: Representation, now: Date): object {
  return shown.form === "object" ? list : tableOf(type, list.items, list.metadata, shown, now);
}
