// Label and field selectors: text → predicate. Mirrors apimachinery's labels.Parse, without comparisons of numbers, and
// fields.ParseSelector, without escapes.
import { failure, type Result, success } from "../../../../shared/result.ts";
import { labelValueErrors, pathSegmentErrors, qualifiedNameErrors } from "../validation/names.ts";

type Labels = Record<string, string>;
type Predicate = (labels: Labels) => boolean;

interface LabelSelector {
  matches: Predicate;
  isEmpty: boolean;
}

interface Requirement {
  key: string;
  operator: string;
  values: string[];
}

/** Splits at the commas that are not between brackets. */
function splitRequirements(selector: string): string[] {
  const parts = selector.split(/,(?![^(]*\))/).map((part) => part.trim());
  return selector.trim() === "" ? [] : parts;
}

const patterns: [operator: string, pattern: RegExp][] = [
  ["exists", /^([^\s=!<>(),]+)$/],
  ["absent", /^!\s*([^\s=!<>(),]+)$/],
  ["in", /^([^\s=!<>(),]+)\s+in\s*\(([^()]*)\)$/],
  ["notin", /^([^\s=!<>(),]+)\s+notin\s*\(([^()]*)\)$/],
  ["notin", /^([^\s=!<>(),]+)\s*!=\s*([^\s=!<>(),]*)$/],
  ["in", /^([^\s=!<>(),]+)\s*==?\s*([^\s=!<>(),]*)$/],
];

function parseRequirement(text: string): Requirement | undefined {
  for (const [operator, pattern] of patterns) {
    const [, key, values = ""] = pattern.exec(text) ?? [];
    if (key !== undefined) return { key, operator, values: values.split(",").map((value) => value.trim()) };
  }
  return undefined;
}

function predicate({ key, operator, values }: Requirement): Predicate {
  return (labels) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    switch (operator) {
      case "exists":
        return value !== undefined;
      case "absent":
        return value === undefined;
      case "in":
        return value !== undefined && values.includes(value);
      default:
        return value === undefined || !values.includes(value);
    }
  };
}

/** An empty selector matches everything. */
export function parseLabelSelector(selector: string): Result<LabelSelector> {
  const requirements: Requirement[] = [];
  for (const text of splitRequirements(selector)) {
    const requirement = parseRequirement(text);
    if (!requirement) return failure(`unable to parse requirement: ${JSON.stringify(text)}`);
    const errors = [...qualifiedNameErrors(requirement.key), ...requirement.values.flatMap(labelValueErrors)];
    if (errors.length > 0) return failure(`unable to parse requirement: ${errors.join("; ")}`);
    requirements.push(requirement);
  }
  const predicates = requirements.map(predicate);
  return success({
    matches: (labels) => predicates.every((matches) => matches(labels)),
    isEmpty: predicates.length === 0,
  });
}

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
  return terms.map((term) => ({
    field: term?.[1] ?? "",
    equal: term?.[2] !== "!=",
    value: term?.[3] ?? "",
  }));
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
