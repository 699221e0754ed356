// JSON documents as errors about patches show them: maps as Go prints them with %+v, and what a patch made. Pure.
import { isJsonObject, type Json, ownValue } from "../../../shared/kubernetes/json.ts";
import { escapeHtml } from "./answer.ts";

/** Go's %+v of a document that was read into maps. */
export function mapText(value: Json): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(mapText).join(" ")}]`;
  if (!isJsonObject(value)) return String(value);
  const keys = Object.keys(value).toSorted();
  return `map[${keys.map((key) => `${key}:${mapText(value[key] ?? null)}`).join(" ")}]`;
}

/** Objects with sorted keys where a patch has been; what it left alone stays as it was. */
function sortedWhereChanged(value: Json, original: Json | undefined): Json {
  if (value === original || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => sortedWhereChanged(item, undefined));
  const before = isJsonObject(original) ? original : {};
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(
    keys.map((key) => [key, sortedWhereChanged(value[key] ?? null, ownValue(before, key))]),
  );
}

/** What a JSON or merge patch made of an object, as Go's patch library writes it. */
export function changedText(result: Json, original: Json): string {
  const sorted = sortedWhereChanged(result, original);
  return escapeHtml(JSON.stringify(sorted));
}
