// Field selectors: text → terms, and whether they hold. Mirrors apimachinery's fields.ParseSelector and its errors.
import { pathSegmentErrors } from "./names.ts";

export interface FieldTerm {
  field: string;
  equal: boolean;
  value: string;
}

/** Splits at commas that no backslash precedes; backslashes stay. */
function splitTerms(selector: string): string[] {
  return selector.match(/(?:[^\\,]|\\.|\\$)+/gs) ?? [];
}

/** fields.UnescapeValue */
function unescape(value: string): { value: string } | { error: string } {
  let result = "";
  for (let index = 0; index < value.length; index++) {
    const letter = value[index] ?? "";
    if (letter === "," || letter === "=") {
      return { error: `invalid field selector: unescaped character in value: ${letter.codePointAt(0)}` };
    }
    if (letter !== "\\") {
      result += letter;
      continue;
    }
    const escaped = value[++index] ?? "";
    if (!["\\", ",", "="].includes(escaped)) {
      return { error: `invalid field selector: invalid escape sequence: \\${escaped}` };
    }
    result += escaped;
  }
  return { value: result };
}

/** The terms in upstream's order, or an error's text. */
export function parseFieldSelector(selector: string): { terms: FieldTerm[] } | { error: string } {
  const terms: FieldTerm[] = [];
  for (const part of splitTerms(selector).sort()) {
    const match = /^(.*?)(!=|==|=)(.*)$/s.exec(part);
    if (!match) return { error: `invalid selector: '${selector}'; can't understand '${part}'` };
    const [, field = "", operator, escaped = ""] = match;
    const value = unescape(escaped);
    if ("error" in value) return value;
    terms.push({ field, equal: operator !== "!=", value: value.value });
  }
  return { terms };
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
  if (!selector.includes("metadata.name")) return undefined;
  const parsed = parseFieldSelector(selector);
  const name = "terms" in parsed ? requiredName(parsed.terms) : undefined;
  return name !== undefined && pathSegmentErrors(name).length === 0 ? name : undefined;
}
