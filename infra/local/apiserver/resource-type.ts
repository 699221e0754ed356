// Defines the type of a row of the resource table (resources.ts).
import type { JsonObject } from "../../../shared/kubernetes/json.ts";
import type { ApiObject, ListItem } from "./object.ts";
import type { FieldError } from "./status.ts";

export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch";

/** A column of a Table (metav1.TableColumnDefinition). kubectl shows priority 1 only with `-o wide`. */
export interface Column {
  name: string;
  type: "string" | "date";
  format?: "name";
  priority?: 1;
  /** Returns the text of the cell. `now` is for columns with ages. */
  cell: (object: ListItem, now: Date) => string | number;
}

/** A path below an object, like `status` or `token`. */
export interface Subresource {
  name: string;
  verbs: Verb[];
  /** The kind of the subresource's bodies, if it differs from the object's kind. */
  kind?: { group: string; version: string; kind: string };
}

export interface ResourceType {
  group: string;
  version: string;
  /** The plural name, as in paths. */
  resource: string;
  singular: string;
  kind: string;
  namespaced: boolean;
  /** The group that validation errors name. Set for a resource whose objects belong to another group. */
  homeGroup?: string;
  shortNames?: string[];
  verbs: Verb[];
  subresources?: Subresource[];
  /** true if a PUT without resourceVersion is refused (strategy.AllowUnconditionalUpdate is false). */
  requiresResourceVersion?: boolean;
  /** true if a PUT of an absent object creates it (strategy.AllowCreateOnUpdate). */
  createsOnUpdate?: boolean;
  /** true if DELETE answers with the object in place of a Status. */
  returnsDeletedObject?: boolean;
  /** Sets the defaults of an object. `sent` is the object before it was decoded into its Go type. */
  normalise?: (object: ApiObject, sent: JsonObject) => ApiObject;
  /** Prepares a new object: mutating admission, strategy.PrepareForCreate and Canonicalize. */
  prepareForCreate?: (object: ApiObject) => ApiObject;
  /** Returns the errors in a new object. Mirrors strategy.Validate. */
  validate?: (object: ApiObject) => FieldError[];
  /** Returns the errors in an update. Mirrors strategy.ValidateUpdate. */
  validateUpdate?: (next: ApiObject, current: ApiObject) => FieldError[];
  /** Returns the fields that a fieldSelector may name in addition to metadata.name and metadata.namespace. */
  selectableFields?: (object: ApiObject) => Record<string, string>;
  columns?: Column[];
}

export function apiVersionOf({ group, version }: Pick<ResourceType, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}
