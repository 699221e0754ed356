// Path elements: how a field set names a field, an item of a list and a value of a set. Mirrors structured-merge-diff's
// fieldpath (serialize-pe.go) and typed.listItemToPathElement.
import { isJsonObject, type Json, ownValue } from "../../../../shared/kubernetes/json.ts";
import { escapeHtml } from "../answers/answer.ts";
import type { ListFields } from "./schema.ts";

function scalarText(value: Json): string {
  return escapeHtml(JSON.stringify(value));
}

export function fieldElement(name: string): string {
  return `f:${name}`;
}

/** The element of an item of a list that is not atomic; undefined for one that nothing identifies. */
export function itemElement(list: ListFields, item: Json): string | undefined {
  if (list.merge === "set") return typeof item === "object" ? undefined : `v:${scalarText(item)}`;
  const value = isJsonObject(item) ? (ownValue(item, list.key) ?? list.keyDefault) : undefined;
  return value === undefined ? undefined : `k:{${JSON.stringify(list.key)}:${scalarText(value)}}`;
}
