// Defines a filter of machines, and parses its terms. worker/fleet/machine-search.ts evaluates the filter.
import { type LabelRequirement, parseLabelSelector } from "../kubernetes/label-selector.ts";
import { isPlatformLabel } from "../kubernetes/labels.ts";
import { labelKeyErrors } from "../kubernetes/validation.ts";
import { type Phase, PHASES } from "../protocol/answers.ts";
import { FILTER_LIMITS, LIMITS, OPERATOR_LIMITS } from "../protocol/limits.ts";
import { failure, type Result, success } from "../result.ts";
import { addressRange, type AddressRange, versionKey } from "./sort-keys.ts";
import { FLEET_STATES, type FleetState, stateText } from "./state.ts";

export interface ConditionTerm {
  type: string;
  status: string;
  /** true if the term matches every status but `status`, and also a Node without the condition. */
  isNegated: boolean;
}

const VERSION_OPERATORS = ["=", "!=", "<", "<=", ">", ">="] as const;

export interface VersionTerm {
  operator: (typeof VERSION_OPERATORS)[number];
  version: string;
}

/** A filter of machines, passed by RPC. A machine has to match all terms; {} matches every machine. */
export interface MachineFilter {
  state?: FleetState[] | undefined;
  phase?: Phase[] | undefined;
  condition?: ConditionTerm[] | undefined;
  selector?: LabelRequirement[] | undefined;
  /** The conditions for the shim's version. An unknown version is neither less nor greater than another. */
  version?: VersionTerm[] | undefined;
  /** The range of the address that the machine reports from, as the Worker sees it. */
  address?: AddressRange | undefined;
  /** The name of a machine. Matches all machines at that machine's address, including itself. */
  beside?: string | undefined;
  /** The ID of the join token that the machine enrolled with. */
  token?: string | undefined;
  /** true matches machines that have never reported with their key, false matches all others. */
  unused?: boolean | undefined;
  /** The words of parseSearchWords, of which a machine must match all. */
  text?: string | undefined;
  /** Matches states that began after this time, in milliseconds since 1970. */
  since?: number | undefined;
  /** Matches states that began at or before this time, in milliseconds since 1970. */
  until?: number | undefined;
}

export type FilterParameter = keyof MachineFilter;

const CONDITION = /^(!?)([^!=]+?)(?:(=|!=)(True|False|Unknown))?$/i;

/** Returns a text in the case of a Kubernetes status: `True`, also for `true`. */
const inStatusCase = (text: string) => text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();

/** Parses a list of conditions such as `MemoryPressure,!Ready,Ready=False,Ready!=True`. */
export function parseConditions(text: string): Result<ConditionTerm[]> {
  const terms: ConditionTerm[] = [];
  for (const term of text.split(",")) {
    const [, not, type = "", operator, status = "True"] = CONDITION.exec(term.trim()) ?? [];
    if (labelKeyErrors(type).length > 0 || (not && operator))
      return failure("expected a condition: Ready, !Ready, Ready=True, Ready=False, Ready!=Unknown");
    terms.push({ type, status: inStatusCase(status), isNegated: not === "!" || operator === "!=" });
  }
  return atMostTerms(terms);
}

const VERSION_TERM = /^(=|==|!=|<=|>=|<|>)?\s*([^\s=!<>]+)$/;

/** Parses a list of versions such as `0.1.0`, `<0.2.0` or `>=0.1.0,!=0.1.3`. */
export function parseVersions(text: string): Result<VersionTerm[]> {
  const terms: VersionTerm[] = [];
  for (const term of text.split(",")) {
    const [, sign = "=", version = ""] = VERSION_TERM.exec(term.trim()) ?? [];
    const operator = VERSION_OPERATORS.find((each) => each === sign) ?? "=";
    if (version === "" || (/[<>]/.test(operator) && versionKey(version) === ""))
      return failure("expected a version: 0.1.0, <0.1.0, <=0.1.0, >=0.1.0,!=0.1.3");
    terms.push({ operator, version });
  }
  return atMostTerms(terms);
}

function atMostTerms<T>(terms: T[]): Result<T[]> {
  return terms.length <= FILTER_LIMITS.terms ? success(terms) : failure(`more than ${FILTER_LIMITS.terms}`);
}

/** Parses a list of words, each of which has to be one of `known`, in upper or lower case. */
export function parseWords<Word extends string>(text: string, known: readonly Word[]): Result<Word[]> {
  const given = text.split(",").map((each) => each.trim().toLowerCase());
  const words = given.map((each) => known.find((word) => word.toLowerCase() === each));
  const found = words.filter((word) => word !== undefined);
  return found.length === words.length
    ? success([...new Set(found)])
    : failure(`expected one or more of ${known.join(", ")}, separated by commas`);
}

/**
 * A word of a search, in lower case. A machine matches the word by its state, phase or reason, or by a part of its
 * name, addresses, labels' values or versions. `isPattern`: the word has a `*`, and matches a whole name or address.
 */
export interface SearchWord {
  text: string;
  isPattern: boolean;
}

const WORD = /"([^"]*)"?|[^\s"]+/g;
/** Matches words with a `*`. A pattern with another character could match no name and no address. */
const PATTERN = /^[\w.:-]*\*[\w.:*-]*$/;

/** Parses words such as `berlin "is full" edge-*`. A text in quotation marks is one word; the last mark may be absent. */
export function parseSearchWords(text: string): Result<SearchWord[]> {
  const words: SearchWord[] = [];
  for (const [whole, quoted] of text.toLowerCase().matchAll(WORD)) {
    const isPattern = quoted === undefined && PATTERN.test(whole);
    if (isPattern && whole.length > FILTER_LIMITS.patternLength)
      return failure(`expected at most ${FILTER_LIMITS.patternLength} characters in a word with *`);
    if (quoted !== "") words.push({ text: quoted ?? whole, isPattern });
  }
  return words.length <= FILTER_LIMITS.terms
    ? success(words)
    : failure(`more than ${FILTER_LIMITS.terms} words`);
}

/** Returns true if a word is a part of the state, as the API or as the page names it: `not-ready`, `not reporting`. */
export const isWordOfState = (state: string, word: string): boolean =>
  [state, stateText(state).toLowerCase()].some((name) => name.includes(word));

const TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Parses a time in RFC 3339, and returns milliseconds since 1970. The seconds may be absent. */
export function parseTime(text: string): Result<number> {
  const [, date] = TIME.exec(text) ?? [];
  const ms = date === undefined ? Number.NaN : Date.parse(text);
  // Date.parse accepts February 30, and returns a time in March.
  const isDate = !Number.isNaN(ms) && new Date(`${date}T00:00Z`).toISOString().slice(0, 10) === date;
  return isDate ? success(ms) : failure("expected a time: 2026-01-31T12:00:00Z");
}

function parseSelector(text: string): Result<LabelRequirement[]> {
  const requirements = parseLabelSelector(text);
  if (!requirements.ok) return requirements;
  const values = requirements.value.reduce((sum, each) => sum + each.values.length, 0);
  return requirements.value.length > FILTER_LIMITS.terms || values > FILTER_LIMITS.labelValues
    ? failure(`more than ${FILTER_LIMITS.terms} requirements, or ${FILTER_LIMITS.labelValues} values`)
    : requirements;
}

/** The label that the Worker gives to each Node of rollcall: a machine without a Node matches no operator's selector. */
const NODE_OF_ROLLCALL: LabelRequirement = { key: "rollcall.dev/machine", operator: "exists", values: [] };

/**
 * Parses the selector of an operator's machines. Refuses a selector that matches all machines, and labels that a machine
 * decides whatever its join token allows: the machine would choose its operators.
 */
export function parseOperatorSelector(text: string): Result<LabelRequirement[]> {
  const parsed = parseSelector(text);
  if (!parsed.ok) return parsed;
  const { selectorTerms, selectorValues } = OPERATOR_LIMITS;
  const values = parsed.value.reduce((sum, each) => sum + each.values.length, 0);
  if (parsed.value.length === 0) return failure("must have a requirement, such as site=berlin");
  if (parsed.value.length > selectorTerms || values > selectorValues)
    return failure(`more than ${selectorTerms} requirements, or ${selectorValues} values`);
  const own = parsed.value.find(({ key }) => isPlatformLabel(key));
  if (own) return failure(`${own.key} is what the machine itself reports: take a label of the join tokens`);
  return success([...parsed.value, NODE_OF_ROLLCALL]);
}

const parseText = (text: string): Result<string> => {
  const words = parseSearchWords(text);
  return words.ok ? success(text) : words;
};

export interface FilterTerm<T> {
  maxLength: number;
  parse: (text: string) => Result<T>;
}

/** The form of each parameter of a search. The API, the page and the command line parse parameters with this table. */
export const FILTER_TERMS: { readonly [P in FilterParameter]-?: FilterTerm<NonNullable<MachineFilter[P]>> } =
  {
    state: { maxLength: LIMITS.textLength, parse: (text) => parseWords(text, FLEET_STATES) },
    phase: { maxLength: LIMITS.textLength, parse: (text) => parseWords(text, PHASES) },
    condition: { maxLength: LIMITS.textLength, parse: parseConditions },
    selector: { maxLength: FILTER_LIMITS.selectorLength, parse: parseSelector },
    version: { maxLength: LIMITS.textLength, parse: parseVersions },
    address: {
      maxLength: LIMITS.idLength,
      parse(text) {
        const range = addressRange(text);
        return range ? success(range) : failure("expected an IP address, or a range: 203.0.113.0/24");
      },
    },
    beside: { maxLength: LIMITS.nameLength, parse: success },
    token: { maxLength: LIMITS.idLength, parse: success },
    unused: {
      maxLength: LIMITS.idLength,
      parse: (text) =>
        text === "true" || text === "false" ? success(text === "true") : failure("expected true or false"),
    },
    text: { maxLength: FILTER_LIMITS.textLength, parse: parseText },
    since: { maxLength: LIMITS.idLength, parse: parseTime },
    until: { maxLength: LIMITS.idLength, parse: parseTime },
  };
