// Path elements: how a field set names a field, an item of a list and a value of a set, and how people read them.
// Mirrors structured-merge-diff's fieldpath (serialize-pe.go, element.go) and typed.listItemToPathElement.
import { isJsonObject, type Json, type JsonObject, ownValue } from "../../../../shared/kubernetes/json.ts";
import { escapeHtml } from "../answer.ts";
import type { ListFields } from "./schema.ts";

function scalarText(value: Json): string {
  return escapeHtml(JSON.stringify(value));
}

export function fieldElement(name: string): string {
  return `f:${name}`;
}

function valueElement(value: Json): { element: string } | { error: string } {
  if (isJsonObject(value)) {
    return { error: "associative list without keys has an element that's a map type" };
  }
  if (Array.isArray(value)) return { error: "not supported: associative list with lists as elements" };
  if (value === null) {
    return { error: "associative list without keys has an element that's an explicit null" };
  }
  return { element: `v:${scalarText(value)}` };
}

/** The element of an item of a list that is not atomic. */
export function itemElement(list: ListFields, item: Json): { element: string } | { error: string } {
  if (list.merge === "set") return valueElement(item);
  if (item === null) return { error: "associative list with keys may not have a null element" };
  if (!isJsonObject(item)) return { error: "associative list with keys may not have non-map elements" };
  const value = ownValue(item, list.key) ?? list.keyDefault;
  if (value !== undefined) return { element: `k:{${JSON.stringify(list.key)}:${scalarText(value)}}` };
  const error = `associative list with keys has an element that omits all key fields ["${list.key}"]`;
  return { error: `${error} (and doesn't have default values for any key fields)` };
}

/** value.ToString of a scalar. */
function printedValue(value: Json | undefined): string {
  return JSON.stringify(value ?? null);
}

function keysOf(text: string): JsonObject {
  const keys: Json = JSON.parse(text);
  return isJsonObject(keys) ? keys : {};
}

/** PathElement.String, of an element as itemElement and fieldElement make it. */
export function printElement(element: string): string {
  const content = element.slice(2);
  if (element.startsWith("f:")) return `.${content}`;
  if (element.startsWith("v:")) return `[=${printedValue(JSON.parse(content))}]`;
  if (element.startsWith("i:")) return `[${content}]`;
  const keys = Object.entries(keysOf(content)).map(([key, value]) => `${key}=${printedValue(value)}`);
  return `[${keys.join(",")}]`;
}

export function printPath(path: readonly string[]): string {
  return path.map(printElement).join("");
}

/**
 * The element as this program writes it, from one that somebody else wrote; undefined for one of a kind that nobody
 * knows (it is to be ignored), an error's text for one that is malformed (DeserializePathElement).
 */
export function canonicalElement(text: string): string | undefined | { error: string } {
  if (text.length < 2) return { error: "key must be 2 characters long:" };
  if (text[1] !== ":") return { error: `missing colon: ${text}` };
  const content = text.slice(2);
  try {
    if (text.startsWith("f:")) return text;
    if (text.startsWith("v:")) return `v:${scalarText(JSON.parse(content))}`;
    if (text.startsWith("i:")) return Number.isInteger(Number(content)) ? text : { error: "invalid syntax" };
    if (!text.startsWith("k:")) return undefined;
    const keys = Object.entries(keysOf(content)).toSorted(([left], [right]) => (left < right ? -1 : 1));
    return `k:{${keys.map(([key, value]) => `${JSON.stringify(key)}:${scalarText(value ?? null)}`).join(",")}}`;
  } catch (error) {
    return { error: String(error) };
  }
}
