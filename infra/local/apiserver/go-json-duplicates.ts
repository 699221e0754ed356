// The fields that came twice in a JSON document which is read without a type, in the words of sigs.k8s.io/json. Pure.
import { isJsonObject, type Json } from "../../../shared/kubernetes/json.ts";
import type { Duplicates } from "./go-json.ts";

function collect(value: Json, path: string, duplicates: Duplicates, found: Set<string>): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, `${path}[${index}]`, duplicates, found);
    return;
  }
  if (!isJsonObject(value)) return;
  const seen = new Set<string>();
  for (const [key, item] of duplicates.get(value) ?? Object.entries(value)) {
    const below = path === "" ? key : `${path}.${key}`;
    if (seen.has(key)) found.add(`duplicate field ${JSON.stringify(below)}`);
    seen.add(key);
    collect(item ?? null, below, duplicates, found);
  }
}

export function duplicateFields(value: Json, duplicates: Duplicates): string[] {
  const found = new Set<string>();
  if (duplicates.size > 0) collect(value, "", duplicates, found);
  return [...found];
}
