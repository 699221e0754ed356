// What the apiserver knows of one resource: the row type of the resource table.
import type { JsonObject } from "../../../shared/kubernetes/json.ts";
import type { ApiObject, ListItem } from "./object.ts";
import type { FieldError } from "./status.ts";

export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch";

/** A column of a Table (metav1.TableColumnDefinition); priority 1 shows with `-o wide` only. */
export interface Column {
  name: string;
  type: "string" | "date";
  format?: "name";
  priority?: 1;
  /** The cell; `now` is for ages. */
  cell: (object: ListItem, now: Date) => string | number;
}

/** A path below an object. Without `verbs` of its own object (`status`) it is served by its own handler (`token`). */
export interface Subresource {
  name: string;
  verbs: Verb[];
  /** The kind that it takes and gives, where that is not the object's own. */
  kind?: { group: string; version: string; kind: string };
}

export interface ResourceType {
  group: string;
  version: string;
  /** Plural, as in paths. */
  resource: string;
  singular: string;
  kind: string;
  namespaced: boolean;
  /** The group that has the same objects and is named by errors of validation, where that is another. */
  homeGroup?: string;
  shortNames?: string[];
  verbs: Verb[];
  subresources?: Subresource[];
  /** PUT without resourceVersion is refused (strategy.AllowUnconditionalUpdate false). */
  requiresResourceVersion?: boolean;
  /** PUT of an absent object creates it (strategy.AllowCreateOnUpdate). */
  createsOnUpdate?: boolean;
  /** DELETE answers with the object instead of a Status. */
  returnsDeletedObject?: boolean;
  /** The defaults of fields that were not set; `sent` is the object before it was brought into its Go type's form. */
  normalise?: (object: ApiObject, sent: JsonObject) => ApiObject;
  /** Mutating admission, strategy.PrepareForCreate and Canonicalize. */
  prepareForCreate?: (object: ApiObject) => ApiObject;
  /** strategy.Validate, of a new object. */
  validate?: (object: ApiObject) => FieldError[];
  /** strategy.ValidateUpdate */
  validateUpdate?: (next: ApiObject, current: ApiObject) => FieldError[];
  /** Fields that a fieldSelector may name besides metadata.name and metadata.namespace. */
  selectableFields?: (object: ApiObject) => Record<string, string>;
  columns?: Column[];
}

export function apiVersionOf({ group, version }: Pick<ResourceType, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}
