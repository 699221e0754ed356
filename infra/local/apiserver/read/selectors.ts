// Field selectors: text → terms. Mirrors apimachinery's fields.ParseSelector, without escapes.
import { pathSegmentErrors } from "../validation/names.ts";

export interface FieldTerm {
  field: string;
  equal: boolean;
  value: string;
}

/** Undefined for a text that is no selector. */
export function parseFieldSelector(selector: string): FieldTerm[] | undefined {
  const parts = selector.split(",").filter((part) => part !== "");
  const terms = parts.map((part) => /^([^!=]*)(!=|==|=)([^=]*)$/.exec(part));
  if (terms.includes(null)) return undefined;
  return terms.map((term) => ({ field: term?.[1] ?? "", equal: term?.[2] !== "!=", value: term?.[3] ?? "" }));
}

/** Whether every term holds for an object's selectable fields; a field that is not there is "". */
export function matchesFields(terms: FieldTerm[], fields: Record<string, string>): boolean {
  return terms.every(({ field, equal, value }) => ((fields[field] ?? "") === value) === equal);
}

/** The one name that the terms ask for, if they do (Selector.RequiresExactMatch). */
export function requiredName(terms: FieldTerm[]): string | undefined {
  return terms.find(({ field, equal }) => field === "metadata.name" && equal)?.value;
}

/** The one name that a request's fieldSelector asks for; undefined for one that is no name, and for no selector. */
export function exactName(selector: string): string | undefined {
  const name = requiredName(parseFieldSelector(selector) ?? []);
  return name !== undefined && pathSegmentErrors(name).length === 0 ? name : undefined;
}
