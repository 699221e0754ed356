// The directives of strategic merge patches (`$patch` and its kin), for those who apply them.
import { isJsonObject, type Json, ownValue } from "../../../../shared/kubernetes/json.ts";
import { DIRECTIVE } from "../../../../shared/kubernetes/patch/directives.ts";

/** Lists the keys that an object keeps. */
export const RETAIN_KEYS = "$retainKeys";

/** `$prefix/field` → `field`; null when the key is not of that form (upstream: extractKey). */
export function withoutPrefix(key: string, prefix: string): string | null {
  return key.startsWith(`${prefix}/`) ? key.slice(prefix.length + 1) : null;
}

/** Does the item carry a directive, or this very one? */
export function isDirective(item: Json, directive?: string): boolean {
  const found = isJsonObject(item) ? ownValue(item, DIRECTIVE) : undefined;
  return directive === undefined ? found !== undefined : found === directive;
}

export function unknownDirective(patch: Json, directive: Json): string {
  return `unknown patch type: ${JSON.stringify(directive)} in map: ${JSON.stringify(patch)}`;
}

/** Drops the keys of objects whose value is null, at every depth (upstream: discardNullValuesFromPatch). */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const fields: [string, Json][] = [];
  for (const [key, field] of Object.entries(value)) {
    if (field !== null && field !== undefined) fields.push([key, withoutNulls(field)]);
  }
  return Object.fromEntries(fields);
}

/** Drops every object that is a directive; undefined when the value itself is one (upstream: removeDirectives). */
export function withoutDirectives(value: Json): Json | undefined {
  if (Array.isArray(value)) return itemsWithoutDirectives(value);
  if (!isJsonObject(value)) return value;
  if (isDirective(value)) return undefined;
  const fields: [string, Json][] = [];
  for (const [key, field] of Object.entries(value)) {
    const kept = field === undefined ? undefined : withoutDirectives(field);
    if (kept !== undefined) fields.push([key, kept]);
  }
  return Object.fromEntries(fields);
}

export function itemsWithoutDirectives(items: Json[]): Json[] {
  return items.map(withoutDirectives).filter((item) => item !== undefined);
}
