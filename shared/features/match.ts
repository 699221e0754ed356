// Matches a machine's features as node-feature-discovery (NFD) does: an expression, a set of expressions, a name, a list of
// terms. Mirrors pkg/apis/nfd/nodefeaturerule. Go's order of a set of expressions is random, and here that of their names.
import { compileExpression, type Expression } from "../go/regexp.ts";
import { toLower } from "../go/strings.ts";
import { type Effort, RuleFault } from "./effort.ts";

export interface MatchExpression {
  op?: string | undefined;
  value?: readonly string[] | undefined;
  /** `version` compares versions, "" whole numbers. */
  type?: string | undefined;
}

export interface FeatureTerm {
  feature: string;
  matchExpressions?: Readonly<Record<string, MatchExpression>> | undefined;
  matchName?: MatchExpression | undefined;
}

/** The elements of one feature. A feature may have several kinds of elements. */
export interface FeatureSet {
  flags?: ReadonlySet<string>;
  attributes?: ReadonlyMap<string, string>;
  instances?: readonly ReadonlyMap<string, string>[];
}

/** A matched element: the attributes of an instance, or the `Name`, and of an attribute the `Value`. */
export type MatchedElement = ReadonlyMap<string, string>;
/** The matched elements by domain and feature, for templates. */
export type MatchedFeatures = Map<string, Map<string, MatchedElement[]>>;

/** The steps for an element that matches, which takes memory, and for a comparison of numbers. */
const [OF_ELEMENT, OF_NUMBER] = [50, 120];

/** The most steps of a regular expression. A list of 1000 devices has some 5000. */
const MOST_STEPS = 10_000;
/** The most steps of all regular expressions of one object, since the Worker keeps them in memory. */
export const MOST_OBJECT_STEPS = 30_000;
/** The most characters of an expression in a message. */
const SHOWN = 200;

/** The number of values that an operator takes. */
const VALUES: Readonly<Record<string, "none" | "some" | 1 | 2>> = {
  "": "none",
  Exists: "none",
  DoesNotExist: "none",
  IsTrue: "none",
  IsFalse: "none",
  In: "some",
  NotIn: "some",
  InRegexp: "some",
  Gt: 1,
  Ge: 1,
  Lt: 1,
  Le: 1,
  GtLt: 2,
  GeLe: 2,
};

/** Returns true if all terms match. Adds the matched elements to `matched`. Throws a RuleFault. */
export function matchTerms(
  terms: readonly FeatureTerm[],
  features: (name: string) => FeatureSet | undefined,
  matched: MatchedFeatures,
  effort: Effort,
): boolean {
  return terms.every(({ feature, matchExpressions, matchName }) => {
    effort.spend(OF_ELEMENT);
    const set = features(toLower(feature));
    if (!set) return false;
    const byExpressions = matchExpressions && matchSet(matchExpressions, set, effort);
    const byName =
      matchName && byExpressions?.isMatch !== false ? matchNames(matchName, set, effort) : undefined;
    const dot = feature.indexOf(".");
    const [domain, name] =
      dot === -1 ? [toLower(feature), ""] : [feature.slice(0, dot), feature.slice(dot + 1)];
    const ofDomain = matched.get(domain) ?? new Map<string, MatchedElement[]>();
    const elements = ofDomain.get(name) ?? [];
    for (const element of [...(byExpressions?.elements ?? []), ...(byName?.elements ?? [])]) {
      effort.spend(OF_ELEMENT);
      elements.push(element);
    }
    matched.set(domain, ofDomain.set(name, elements));
    return byExpressions?.isMatch !== false && byName?.isMatch !== false;
  });
}

interface Matching {
  isMatch: boolean;
  elements: MatchedElement[];
}

/**
 * Matches each expression with the flag or attribute of its name, or all expressions with one instance's attributes.
 * The absence of a name must be one from flags and attributes.
 */
function matchSet(
  expressions: Readonly<Record<string, MatchExpression>>,
  set: FeatureSet,
  effort: Effort,
): Matching {
  const { flags, attributes, instances = [] } = set;
  const named = Object.entries(expressions).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const elements: MatchedElement[] = [];
  const isFound = ([name, expression]: [string, MatchExpression]): boolean => {
    const places = [
      flags && { element: flagElement(name), isMatch: matches(expression, flags.has(name), null, effort) },
      attributes && {
        element: attributeElement(name, attributes.get(name) ?? ""),
        isMatch: matches(expression, attributes.has(name), attributes.get(name) ?? null, effort),
      },
    ].filter((place) => place !== undefined);
    const hits = places.filter(({ isMatch }) => isMatch);
    elements.push(...hits.map(({ element }) => element));
    return expression.op === "DoesNotExist"
      ? hits.length === places.length && hits.length > 0
      : hits.length > 0;
  };
  const isMatch = (flags !== undefined || attributes !== undefined) && named.every(isFound);
  const matched = instances.filter((instance) =>
    named.every(([name, expression]) =>
      matches(expression, instance.has(name), instance.get(name) ?? null, effort),
    ),
  );
  return { isMatch: isMatch || matched.length > 0, elements: [...(isMatch ? elements : []), ...matched] };
}

/** Matches the names of flags and attributes, and instances that have an attribute with a name that matches. */
function matchNames(
  expression: MatchExpression,
  { flags, attributes, instances = [] }: FeatureSet,
  effort: Effort,
): Matching {
  const isNamed = (name: string) => matches(expression, true, name, effort);
  const elements = [
    ...[...(flags ?? [])].filter(isNamed).map(flagElement),
    ...[...(attributes ?? [])]
      .filter(([name]) => isNamed(name))
      .map(([name, value]) => attributeElement(name, value)),
  ].toSorted((a, b) => (a.get("Name")! < b.get("Name")! ? -1 : 1));
  // All names are checked: an expression may be invalid.
  const found = instances.filter((instance) => [...instance.keys()].filter(isNamed).length > 0);
  const all = [...elements, ...found];
  return { isMatch: all.length > 0, elements: all };
}

const flagElement = (name: string): MatchedElement => new Map([["Name", name]]);
const attributeElement = (name: string, value: string): MatchedElement =>
  new Map([
    ["Name", name],
    ["Value", value],
  ]);

/** Returns true if an element matches. `value` is null for a flag, and for an element that is absent. Throws a RuleFault. */
function matches(
  expression: MatchExpression,
  isPresent: boolean,
  value: string | null,
  effort: Effort,
): boolean {
  const { op = "", value: values = [] } = expression;
  effort.spend(2 + values.length);
  const isPresence = op === "" || op === "Exists" || op === "DoesNotExist";
  const takes = valuesOf(op);
  // NFD checks the values only if there is an element to compare.
  if (!isPresence && (!isPresent || value === null)) return false;
  requireValues(op, takes, values);
  switch (op) {
    case "":
      return true;
    case "Exists":
      return isPresent;
    case "DoesNotExist":
      return !isPresent;
    case "IsTrue":
      return value === "true";
    case "IsFalse":
      return value === "false";
    case "In":
      return values.includes(value ?? "");
    case "NotIn":
      return !values.includes(value ?? "");
    case "InRegexp":
      return expressionsOf(values).some((each) => each.match(value ?? "", effort) !== null);
    default:
      effort.spend(OF_NUMBER);
      return isInOrder(op, value ?? "", values, expression.type ?? "");
  }
}

/**
 * Throws a RuleFault if an expression is invalid for each element. Returns the steps of its regular expressions, which take
 * memory. Stops above MOST_OBJECT_STEPS.
 */
export function checkExpression({ op = "", value = [], type = "" }: MatchExpression): number {
  const takes = valuesOf(op);
  requireValues(op, takes, value);
  // Its own first limit stands for an element.
  if (typeof takes === "number") isInOrder(op, value[0] ?? "", value, type);
  let steps = 0;
  if (op === "InRegexp")
    for (const text of value) if (steps <= MOST_OBJECT_STEPS) steps += expressionOf(text).steps;
  return steps;
}

function valuesOf(op: string): (typeof VALUES)[string] {
  const takes = Object.hasOwn(VALUES, op) ? VALUES[op] : undefined;
  if (takes === undefined)
    throw new RuleFault(`unknown operator ${op}: expected one of ${Object.keys(VALUES).slice(1).join(", ")}`);
  return takes;
}

function requireValues(op: string, takes: (typeof VALUES)[string], { length }: readonly string[]): void {
  const fits = takes === "none" ? length === 0 : takes === "some" ? length > 0 : length === takes;
  if (!fits)
    throw new RuleFault(
      `${op || "an expression without an operator"} takes ${takes} value${takes === 1 ? "" : "s"}`,
    );
}

/** The expressions by their texts in a rule, which must never change. A rule matches them with each device. */
const compiled = new WeakMap<readonly string[], readonly Expression[]>();

function expressionsOf(texts: readonly string[]): readonly Expression[] {
  const expressions = compiled.get(texts) ?? texts.map(expressionOf);
  compiled.set(texts, expressions);
  return expressions;
}

function expressionOf(text: string): Expression {
  const expression = compileExpression(text, MOST_STEPS);
  if (!expression.ok) throw new RuleFault(`${text.slice(0, SHOWN)}: ${expression.error.slice(0, SHOWN)}`);
  return expression.value;
}

function isInOrder(op: string, text: string, limits: readonly string[], type: string): boolean {
  if (type !== "" && type !== "version") throw new RuleFault(`unknown type ${type}: expected version`);
  const parse = type === "version" ? versionOf : numberOf;
  const value = parse(text);
  const [first, second] = limits.map(parse);
  const low = compare(value, first!);
  switch (op) {
    case "Gt":
      return low > 0;
    case "Ge":
      return low >= 0;
    case "Lt":
      return low < 0;
    case "Le":
      return low <= 0;
    default: {
      if (type === "" && compare(first!, second!) >= 0)
        throw new RuleFault(`${op}: ${limits.join(" is not less than ")}`);
      const high = compare(value, second!);
      return op === "GtLt" ? low > 0 && high < 0 : low >= 0 && high <= 0;
    }
  }
}

function compare(a: readonly bigint[], b: readonly bigint[]): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at === -1 ? 0 : a[at]! < b[at]! ? -1 : 1;
}

const [MIN_INT64, MAX_INT64, MAX_UINT64] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n];

/** Parses a whole number like strconv.Atoi. */
function numberOf(text: string): bigint[] {
  const number = /^[-+]?[0-9]{1,64}$/.test(text) ? BigInt(text.replace("+", "")) : null;
  if (number === null || number < MIN_INT64 || number > MAX_INT64)
    throw new RuleFault(`${text} is no number`);
  return [number];
}

const VERSION =
  /^v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

/** Parses a version like semver.NewVersion. What follows the three numbers does not count. */
function versionOf(text: string): bigint[] {
  const [found, major = "", minor = "0", patch = "0", pre = ""] = VERSION.exec(text.slice(0, 257)) ?? [];
  const numbers = [major, minor, patch].map((part) => BigInt(part || "0"));
  const isValid = found !== undefined && numbers.every((number) => number <= MAX_UINT64);
  // A number of a pre-release has no leading zeros.
  if (!isValid || pre.split(".").some((part) => /^0[0-9]+$/.test(part)))
    throw new RuleFault(`${text} is no version`);
  return numbers;
}
