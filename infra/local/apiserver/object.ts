// What every object of the API has, the shape of an answer, and reading of fields that may be anything.
import { isJsonObject, type Json, type JsonObject } from "../../../shared/kubernetes/json.ts";
import type { ObjectMeta, Status } from "../../../shared/kubernetes/types.ts";
import type { Result } from "../../../shared/result.ts";

/** An object of a list, whose kind is that of the list. */
export interface ListItem {
  metadata: ObjectMeta;
  /** Fields that belong to its kind. */
  [field: string]: unknown;
}

/** Any object that the apiserver stores. */
export interface ApiObject extends ListItem {
  kind: string;
  apiVersion: string;
}

/** What was asked for, or the `Status` that says why not. */
export type Outcome<T> = Result<T, Status>;

/** The same object as plain JSON, which it is. */
export function asJson(object: ApiObject): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every object came from JSON and goes back to it
  return object as unknown as JsonObject;
}

/** An empty object for anything else, as a Go struct that was never set. */
export function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** "" for anything else, as a Go string that was never set. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value : [];
}
