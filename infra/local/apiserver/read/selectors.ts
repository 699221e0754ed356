// Parses and matches field selectors. Mirrors apimachinery's fields.ParseSelector, without escapes.
import { pathSegmentErrors } from "../validation/names.ts";

export interface FieldTerm {
  field: string;
  equal: boolean;
  value: string;
}

/** Returns the terms of a field selector, or undefined if the text is not one. */
export function parseFieldSelector(selector: string): FieldTerm[] | undefined {
  const parts = selector.split(",").filter((part) => part !== "");
  const terms = parts.map((part) => /^([^!=]*)(!=|==|=)([^=]*)$/.exec(part));
  if (terms.includes(null)) return undefined;
  return terms.map((term) => ({ field: term?.[1] ?? "", equal: term?.[2] !== "!=", value: term?.[3] ?? "" }));
}

/** Returns true if all terms match an object's selectable fields. An absent field counts as "". */
export function matchesFields(terms: FieldTerm[], fields: Record<string, string>): boolean {
  return terms.every(({ field, equal, value }) => ((fields[field] ?? "") === value) === equal);
}

/** Returns the name that the terms require, or undefined if they require none. Mirrors Selector.RequiresExactMatch. */
export function requiredName(terms: FieldTerm[]): string | undefined {
  return terms.find(({ field, equal }) => field === "metadata.name" && equal)?.value;
}

/** Returns the name that a fieldSelector requires, or undefined if it requires none or the name is not valid. */
export function exactName(selector: string): string | undefined {
  const name = requiredName(parseFieldSelector(selector) ?? []);
  return name !== undefined && pathSegmentErrors(name).length === 0 ? name : undefined;
}
