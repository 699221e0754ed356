// Parses the search field: words, kubectl's label selectors, and terms like `state:silent`, as in GET /v1/machines.
import type { MachineFilter } from "../../../shared/fleet/search-filter.ts";
import { filterShape } from "../../../shared/protocol/fleet-api.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { EXAMPLES, SEARCH_FIELDS, type SearchField, type SearchParameter } from "./search-fields.ts";

/** The terms that a search may repeat. Commas join their values, of which a machine must match all. */
const ADDED_UP: ReadonlySet<SearchParameter> = new Set(["condition", "version", "selector"]);

/** An invalid term. */
export interface SearchFault {
  term: string;
  /** The expected form, as the end of a sentence. */
  expected: string;
}

export interface FleetSearch {
  filter: MachineFilter;
  /** The search as parameters of the API. */
  parameters: Readonly<Partial<Record<SearchParameter, string>>>;
}

const KEY = String.raw`[A-Za-z0-9][\w./-]*`;
const REQUIREMENT = String.raw`!?${KEY}(?:\s+(?:not)?in\s*\([^)]*\)?|\s+[=!]=?\s+[^\s,()"]+|[=!<>]=?[^\s,()"]*)?`;
const FIELD = new RegExp(String.raw`(${SEARCH_FIELDS.join("|")}):((?:"[^"]*"?|[^\s"])*)`, "y");
const SELECTOR = new RegExp(String.raw`${REQUIREMENT}(?:\s*,\s*${REQUIREMENT})*,?`, "y");
const WORD = /"([^"]*)"?|([^\s"]+)/y;

interface SearchTerm {
  parameter: SearchParameter;
  value: string;
  /** The term as the operator typed it. */
  term: string;
}

/** Returns true for a selector: a text with an operator or a leading `!`. Any other text is a word. */
const isSelector = (text: string) => /^!|[=<>]|!=|\s(?:not)?in\s*\(/.test(text);

function termsOf(text: string): SearchTerm[] {
  const terms: SearchTerm[] = [];
  let at = 0;
  const next = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  while (at < text.length) {
    if (/\s/.test(text.charAt(at))) {
      at += 1;
      continue;
    }
    const [field, selector, word] = [next(FIELD), next(SELECTOR), next(WORD)];
    const found = field ?? (selector && isSelector(selector[0]) ? selector : null) ?? word;
    // If no pattern matches, the next character is a single quotation mark.
    const term = found?.[0] ?? text.charAt(at);
    at += term.length;
    if (field)
      terms.push({
        parameter: field[1] as SearchField,
        value: (field[2] ?? "").replaceAll('"', "").trim(),
        term,
      });
    else if (found === selector) terms.push({ parameter: "selector", value: term.replace(/,$/, ""), term });
    else terms.push({ parameter: "text", value: found?.[1] ?? found?.[2] ?? "", term });
  }
  return terms.filter(({ parameter, value }) => parameter !== "text" || value !== "");
}

/** The most characters of a search, as links may have longer texts, and the parser takes quadratic time. */
export const MAX_SEARCH = 2048;

/** Parses a search. Returns its terms, or the fault of the first invalid term. */
export function readSearch(text: string): Result<FleetSearch, SearchFault> {
  const parameters: Partial<Record<SearchParameter, string>> = {};
  if (text.length > MAX_SEARCH)
    return failure({ term: `${text.slice(0, 20)}…`, expected: `it has more than ${MAX_SEARCH} characters` });
  for (const { parameter, value, term } of termsOf(text)) {
    const before = parameters[parameter];
    const alone = valueOf(parameter, value);
    if (!alone.ok) return failure({ term, expected: alone.error });
    if (before === undefined) parameters[parameter] = value;
    else if (parameter === "text") parameters.text = `${before} ${value}`;
    else if (ADDED_UP.has(parameter)) parameters[parameter] = `${before},${value}`;
    else return failure({ term, expected: `there is one ${parameter}: already` });
  }
  const filter: MachineFilter = {};
  for (const [parameter, value] of Object.entries(parameters)) {
    const read = valueOf(parameter as SearchParameter, value);
    if (!read.ok) return failure({ term: value, expected: read.error });
    Object.assign(filter, { [parameter]: read.value });
  }
  return success({ filter, parameters });
}

function valueOf(parameter: SearchParameter, value: string): Result<unknown> {
  const read = filterShape[parameter].safeParse(value);
  if (read.success) return success(read.data);
  return failure(expectedOf(parameter, value, read.error.issues[0]));
}

function expectedOf(
  parameter: SearchParameter,
  value: string,
  issue: { code?: string; message: string } | undefined,
): string {
  if (value === "") return `expected a value, as in ${EXAMPLES[parameter]}`;
  if (issue?.code === "custom") return issue.message.replace(/^found '', /, "it ends too soon, ");
  return "it is too long";
}
