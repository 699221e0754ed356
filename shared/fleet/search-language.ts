// Parses the search of page and command line: words, kubectl's label selectors, and terms like `state:silent`. The
// result has the parameters of GET /v1/machines.
import { failure, type Result, success } from "../result.ts";
import { FILTER_TERMS, type FilterParameter, type MachineFilter } from "./search-filter.ts";
import { durationMs } from "./time-words.ts";

/** The names of the terms: parameters of the API. `selector` and `text` are written without a name. */
const SEARCH_FIELDS = [
  "state",
  "phase",
  "condition",
  "version",
  "address",
  "beside",
  "token",
  "unused",
  "since",
  "until",
] as const satisfies readonly FilterParameter[];

const PARAMETERS: readonly FilterParameter[] = [...SEARCH_FIELDS, "selector", "text"];

/** An example of each term, for the help and for error messages. */
export const SEARCH_EXAMPLES: Readonly<Record<FilterParameter, string>> = {
  text: 'berlin "is full" edge-*',
  selector: "site=berlin,tier!=edge",
  state: "state:silent,blocked",
  phase: 'phase:cloned,"two shims"',
  condition: "condition:MemoryPressure",
  version: "version:<0.2.0",
  address: "address:10.0.0.0/8",
  beside: "beside:edge-7",
  token: "token:ID",
  unused: "unused:true",
  since: "since:2h",
  until: "until:2026-11-23T04:00:00Z",
};

/** The terms that a search may repeat. Commas join their values, of which a machine must match all. */
const ADDED_UP: ReadonlySet<FilterParameter> = new Set(["condition", "version", "selector"]);

/** An invalid term. */
export interface SearchFault {
  term: string;
  /** The expected form, as the end of a sentence. */
  expected: string;
}

export interface FleetSearch {
  filter: MachineFilter;
  /** The search as parameters of the API. */
  parameters: Readonly<Partial<Record<FilterParameter, string>>>;
  /** true if the search has a time before now, such as `since:2h`. */
  isRelative: boolean;
}

const KEY = String.raw`[A-Za-z0-9][\w./-]*`;
const REQUIREMENT = String.raw`!?${KEY}(?:\s+(?:not)?in\s*\([^)]*\)?|\s+[=!]=?\s+[^\s,()"]+|[=!<>]=?[^\s,()"]*)?`;
const FIELD = new RegExp(String.raw`(${SEARCH_FIELDS.join("|")}):((?:"[^"]*"?|[^\s"])*)`, "iy");
const SELECTOR = new RegExp(String.raw`${REQUIREMENT}(?:\s*,\s*${REQUIREMENT})*,?`, "y");
const WORD = /"[^"]*"?|[^\s"]+/y;

export interface SearchTerm {
  parameter: FilterParameter;
  value: string;
  /** The term as the operator typed it. */
  term: string;
}

/** Returns true for a selector: a text with an operator or a leading `!`. Any other text is a word. */
const isSelector = (text: string) => /^!|[=<>]|!=|\s(?:not)?in\s*\(/.test(text);

/** Returns the terms of a search, in the order in which they are typed. */
export function searchTerms(text: string): SearchTerm[] {
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
    const term = found?.[0] ?? text.charAt(at);
    at += term.length;
    const parameter = SEARCH_FIELDS.find((name) => name === field?.[1]?.toLowerCase());
    if (parameter) terms.push({ parameter, value: (field?.[2] ?? "").replaceAll('"', "").trim(), term });
    else if (found === selector) terms.push({ parameter: "selector", value: term.replace(/,$/, ""), term });
    else terms.push({ parameter: "text", value: term, term });
  }
  return terms.filter(({ parameter, value }) => parameter !== "text" || /[^"]/.test(value));
}

/** The most characters of a search, as links may have longer texts, and the parser takes quadratic time. */
export const MAX_SEARCH = 2048;

/**
 * Parses a search. Returns its terms, or the fault of the first invalid term. A time such as `2h` is that long before
 * `nowMs`, in milliseconds since 1970.
 */
export function readSearch(text: string, nowMs: number): Result<FleetSearch, SearchFault> {
  const parameters: Partial<Record<FilterParameter, string>> = {};
  if (text.length > MAX_SEARCH)
    return failure({ term: `${text.slice(0, 20)}…`, expected: `it has more than ${MAX_SEARCH} characters` });
  let isRelative = false;
  for (const { parameter, value: typed, term } of searchTerms(text)) {
    const before = parameters[parameter];
    const value = parameter === "since" || parameter === "until" ? timeOf(typed, nowMs) : typed;
    isRelative ||= value !== typed;
    const alone = unknownField(parameter, value) ?? valueOf(parameter, value);
    if (!alone.ok) return failure({ term, expected: alone.error });
    if (before === undefined) parameters[parameter] = value;
    else if (parameter === "text") parameters.text = `${before} ${value}`;
    else if (ADDED_UP.has(parameter)) parameters[parameter] = `${before},${value}`;
    else return failure({ term, expected: `there is one ${parameter}: already` });
  }
  const filter: MachineFilter = {};
  for (const parameter of PARAMETERS) {
    const value = parameters[parameter];
    const read = value === undefined ? null : valueOf(parameter, value);
    if (!read || value === undefined) continue;
    if (!read.ok) return failure({ term: value, expected: read.error });
    Object.assign(filter, { [parameter]: read.value });
  }
  return success({ filter, parameters, isRelative });
}

/** The largest time of a Date, in milliseconds. */
const LAST_MS = 8.64e15;

/** Returns a time before now, such as `2h`, in RFC 3339, and any other text as it is. */
function timeOf(text: string, nowMs: number): string {
  const ms = nowMs - durationMs(text);
  return Math.abs(ms) <= LAST_MS ? new Date(ms).toISOString() : text;
}

function valueOf(parameter: FilterParameter, value: string): Result<unknown> {
  if (value === "") return failure(`expected a value, as in ${SEARCH_EXAMPLES[parameter]}`);
  const { maxLength, parse } = FILTER_TERMS[parameter];
  if (value.length > maxLength) return failure("it is too long");
  const read: Result<unknown> = parse(value);
  return read.ok ? read : failure(read.error.replace(/^found '', /, "it ends too soon, "));
}

/** Matches `foo:bar`, and neither an IPv6 address nor `containerd://1.7`. */
const UNKNOWN_FIELD = /^(?![\da-f]*:[\da-f:]*$)([a-z][a-z-]*):(?!\/\/)/i;

/** What to write in place of fields that other programs have. */
const INSTEAD: Readonly<Record<string, string>> = {
  name: "a name without a field, as in edge-*",
  label: SEARCH_EXAMPLES.selector,
  labels: SEARCH_EXAMPLES.selector,
  site: SEARCH_EXAMPLES.selector,
  status: SEARCH_EXAMPLES.state,
  ip: SEARCH_EXAMPLES.address,
  why: 'words of the reason, as in "is full"',
};

function unknownField(parameter: FilterParameter, value: string): Result<never> | null {
  const [, field] = (parameter === "text" && UNKNOWN_FIELD.exec(value)) || [];
  if (field === undefined) return null;
  const typed = field.toLowerCase();
  const near = SEARCH_FIELDS.find((known) => isNear(typed, known));
  const meant = INSTEAD[typed] ?? (near && `${near}:`);
  const fields = SEARCH_FIELDS.map((known) => `${known}:`).join(", ");
  const what = meant === undefined ? `the fields are ${fields}` : `did you mean ${meant}?`;
  return failure(`no field has the name ${field}; ${what}`);
}

/** Returns true if one word begins with the other, or if they differ in one letter, or in the order of two letters. */
function isNear(one: string, other: string): boolean {
  if (one.startsWith(other) || (one.length > 1 && other.startsWith(one))) return true;
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const [left, right] = [one.slice(same), other.slice(same)];
  return [
    [left.slice(1), right.slice(1)],
    [left.slice(1), right],
    [left, right.slice(1)],
    [`${left.charAt(1)}${left.charAt(0)}${left.slice(2)}`, right],
  ].some(([a, b]) => a === b);
}
