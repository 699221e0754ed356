// Defines the type of every object of the API, and functions that read fields of unknown types.
import { isJsonObject, type Json, type JsonObject } from "../../../shared/kubernetes/json.ts";
import type { ObjectMeta, Status } from "../../../shared/kubernetes/types.ts";
import type { Result } from "../../../shared/result.ts";

/** An object in a list. The object has no kind, because the list names the kind. */
export interface ListItem {
  metadata: ObjectMeta;
  /** The fields that belong to the object's kind. */
  [field: string]: unknown;
}

/** An object that the apiserver stores. Every kind has these fields. */
export interface ApiObject extends ListItem {
  kind: string;
  apiVersion: string;
}

/** The result of a request, or the Status that explains its failure. */
export type Outcome<T> = Result<T, Status>;

export function asJson(object: ApiObject): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every object came from JSON and goes back to it
  return object as unknown as JsonObject;
}

/** Returns the value if it is an object. Otherwise returns {}, the JSON of an unset Go struct. */
export function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the value if it is a string. Otherwise returns "", the JSON of an unset Go string. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the value at a path of fields like "status.phase", or undefined if a part of the path is absent. */
export function valueAt(object: object, path: string): unknown {
  return path.split(".").reduce<unknown>((value, field) => fieldsOf(value)[field], object);
}

/** Returns the text at a path of fields, or "". */
export function textAt(object: object, path: string): string {
  return textOf(valueAt(object, path));
}
