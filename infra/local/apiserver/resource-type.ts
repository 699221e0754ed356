// The type of a row of the resource table (resources.ts).
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
  /** `now`: for ages. */
  cell: (object: ListItem, now: Date) => string | number;
}

/** A path below an object: `status`, `token`. */
export interface Subresource {
  name: string;
  verbs: Verb[];
  /** The kind of its bodies, if that differs from the object's. */
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
  /** The group that validation errors name, if that differs: it has the same objects. */
  homeGroup?: string;
  shortNames?: string[];
  verbs: Verb[];
  subresources?: Subresource[];
  /** The apiserver refuses a PUT without resourceVersion (strategy.AllowUnconditionalUpdate is false). */
  requiresResourceVersion?: boolean;
  /** PUT of an absent object creates it (strategy.AllowCreateOnUpdate). */
  createsOnUpdate?: boolean;
  /** DELETE answers with the object instead of a Status. */
  returnsDeletedObject?: boolean;
  /** Sets defaults. `sent` is the object before it was decoded into its Go type. */
  normalise?: (object: ApiObject, sent: JsonObject) => ApiObject;
  /** Mutating admission, strategy.PrepareForCreate and Canonicalize. */
  prepareForCreate?: (object: ApiObject) => ApiObject;
  /** strategy.Validate */
  validate?: (object: ApiObject) => FieldError[];
  /** strategy.ValidateUpdate */
  validateUpdate?: (next: ApiObject, current: ApiObject) => FieldError[];
  /** Fields that a fieldSelector may name in addition to metadata.name and metadata.namespace. */
  selectableFields?: (object: ApiObject) => Record<string, string>;
  columns?: Column[];
}

export function apiVersionOf({ group, version }: Pick<ResourceType, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}
