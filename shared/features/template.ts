// Expands the templates of rules: range, if, comparisons, len, index, and sprig's first, trim and substr.
import { trimSpace } from "../go/strings.ts";
import { type Effort, RuleFault } from "./effort.ts";
import type { MatchedFeatures } from "./match.ts";
import {
  DOT,
  fault,
  type FunctionName,
  type Operand,
  type Part,
  parseTemplate,
  TEMPLATE_BYTES,
  type Value,
} from "./template-syntax.ts";

/** The steps for a word of an action, a character of a template and of its text, a line, and an attribute to sort. */
const [OF_WORD, OF_SOURCE, OF_CHARACTER, OF_LINE, OF_ATTRIBUTE] = [5, 15, 5, 500, 60];

/** Returns the keys and values of the template's lines `KEY=VALUE`. Throws a RuleFault. */
export function expand(template: string, matched: MatchedFeatures, effort: Effort): Map<string, string> {
  if (template === "") return new Map();
  effort.spend(template.length * OF_SOURCE);
  const dot = matched.size === 0 ? NO_FEATURES : matched;
  const text = new Expansion(effort).text(parseTemplate(template), dot);
  const lines = text.split("\n").map(trimSpace);
  effort.spend(lines.length * OF_LINE);
  return new Map(lines.filter((line) => line !== "").map(entryOf));
}

function entryOf(line: string): [key: string, value: string] {
  const equals = line.indexOf("=");
  if (equals === -1) throw new RuleFault(`the template's line ${line} has no value: expected KEY=VALUE`);
  return [line.slice(0, equals), line.slice(equals + 1)];
}

class Expansion {
  readonly #effort: Effort;
  #length = 0;

  constructor(effort: Effort) {
    this.#effort = effort;
  }

  text(parts: readonly Part[], dot: Value): string {
    const texts = parts.map((part) => {
      if (part.is === "text") return this.#counted(part.text);
      this.#effort.spend((part.words + 1) * OF_WORD);
      const value = this.#valueOf(part.of, dot);
      if (part.is === "output") return this.#counted(textOf(value));
      if (part.is === "if") return this.text(isTrue(value) ? part.inner : part.otherwise, dot);
      if (isMap(value)) this.#effort.spend(value.size * OF_ATTRIBUTE);
      const elements = elementsOf(value);
      // Also of a range without a body: an element in it counts no step of its own.
      this.#effort.spend(elements.length * OF_WORD);
      return elements.length === 0
        ? this.text(part.otherwise, dot)
        : elements.map((element) => this.text(part.inner, element)).join("");
    });
    return texts.join("");
  }

  #counted(text: string): string {
    this.#effort.spend((text.length + 1) * OF_CHARACTER);
    this.#length += text.length;
    if (this.#length > TEMPLATE_BYTES)
      throw new RuleFault(`the template's text has more than ${TEMPLATE_BYTES} characters`);
    return text;
  }

  #valueOf(operand: Operand, dot: Value): Value {
    if (operand.is === "value") return operand.value;
    if (operand.is === "call") return this.#called(operand, dot);
    const of = operand.of === null ? dot : this.#valueOf(operand.of, dot);
    if (operand === DOT) return of;
    const field = isMap(of) ? of.get(operand.name) : undefined;
    if (field === undefined)
      throw new RuleFault(`the template's .${operand.name} does not exist in ${textOf(of).slice(0, 100)}`);
    return field;
  }

  #called({ name, args, at }: Extract<Operand, { is: "call" }>, dot: Value): Value {
    const { least, most, call } = FUNCTIONS[name];
    if (args.length < least || args.length > most) fault(at, `takes ${least} to ${most} arguments`);
    // Like Go, `and` and `or` do not evaluate what cannot count.
    if (name === "and" || name === "or") {
      let value: Value = "";
      for (const arg of args) {
        value = this.#valueOf(arg, dot);
        if (isTrue(value) === (name === "or")) break;
      }
      return value;
    }
    const values = args.map((arg) => this.#valueOf(arg, dot));
    for (const value of values) if (typeof value === "string") this.#effort.spend(value.length);
    return call(values, (why) => fault(at, why));
  }
}

const isMap = (value: Value): value is ReadonlyMap<string, Value> => value instanceof Map;
const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

function elementsOf(value: Value): readonly Value[] {
  if (value === null) return [];
  if (isList(value)) return value;
  if (isMap(value)) return [...value].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, element]) => element);
  throw new RuleFault(`range over ${textOf(value)}: expected a list`);
}

/** Returns false for an empty or zero value, like Go's templates. */
const isTrue = (value: Value): boolean =>
  isList(value) ? value.length > 0 : isMap(value) ? value.size > 0 : Boolean(value);

/** Returns the text of a value like fmt.Sprint. */
function textOf(value: Value): string {
  if (value === null) return "<no value>";
  // More elements than that have no room in a text.
  if (isList(value)) return `[${value.slice(0, TEMPLATE_BYTES).map(textOf).join(" ")}]`;
  if (!isMap(value)) return String(value);
  const entries = [...value].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, each]) => `${key}:${textOf(each)}`).join(" ")}]`;
}

interface TemplateFunction {
  least: number;
  most: number;
  call: (args: Value[], refuse: (why: string) => never) => Value;
}

const compared = (holds: (sign: number) => boolean): TemplateFunction => ({
  least: 2,
  most: 2,
  call: ([a, b], refuse) => {
    const isOrdered = (typeof a === "number" || typeof a === "string") && typeof a === typeof b;
    if (!isOrdered) return refuse("compares numbers, or texts");
    return holds(a === b ? 0 : a < b! ? -1 : 1);
  },
});

const equal = (a: Value, b: Value, refuse: (why: string) => never): boolean => {
  if (a !== null && b !== null && (typeof a === "object" || typeof a !== typeof b))
    return refuse("compares texts, numbers or truth values");
  return a === b;
};

/** What Go returns for an absent key: of all features, of a domain. Of an element it is the empty text. */
const NO_FEATURE: readonly Value[] = [];
const NO_DOMAIN: ReadonlyMap<string, Value> = new Map();
const NO_FEATURES: ReadonlyMap<string, Value> = new Map();

function absentOf(map: ReadonlyMap<string, Value>): Value {
  const [other] = map.values();
  if (map === NO_FEATURES || (other && isMap(other))) return NO_DOMAIN;
  return map === NO_DOMAIN || (other && isList(other)) ? NO_FEATURE : "";
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Returns the value at one place of a list, a text or an element. */
function valueAt(of: Value, place: Value, refuse: (why: string) => never): Value {
  if (typeof place === "number") {
    const values =
      typeof of === "string" ? bytesOf(of) : isList(of) ? of : refuse("takes a text for an element");
    return values[place] ?? refuse(`has no element ${place}`);
  }
  if (!isMap(of) || typeof place !== "string")
    return refuse("takes a number for a list, and a text for an element");
  return of.get(place) ?? absentOf(of);
}

function substring([start, end, of]: Value[], refuse: (why: string) => never): Value {
  if (typeof start !== "number" || typeof end !== "number" || typeof of !== "string")
    return refuse("takes two numbers and a text");
  const bytes = bytesOf(of);
  const from = Math.max(start, 0);
  const to = start >= 0 && (end < 0 || end > bytes.length) ? bytes.length : end;
  if (to < from || to > bytes.length) return refuse(`has no part from ${start} to ${end} in ${of}`);
  return new TextDecoder().decode(bytes.subarray(from, to));
}

const MOST = 16;
const FUNCTIONS: Readonly<Record<FunctionName, TemplateFunction>> = {
  len: {
    least: 1,
    most: 1,
    call: ([of], refuse) => {
      if (typeof of === "string") return bytesOf(of).length;
      return isList(of!) ? of.length : isMap(of!) ? of.size : refuse("counts a list");
    },
  },
  index: {
    least: 1,
    most: MOST,
    call: ([of, ...places], refuse) =>
      of === null
        ? refuse("takes a list")
        : places.reduce<Value>((value, place) => valueAt(value, place, refuse), of!),
  },
  first: {
    least: 1,
    most: 1,
    call: ([of], refuse) => (isList(of!) ? (of[0] ?? null) : refuse("takes a list")),
  },
  trim: {
    least: 1,
    most: 1,
    call: ([of], refuse) => (typeof of === "string" ? trimSpace(of) : refuse("takes a text")),
  },
  substr: { least: 3, most: 3, call: substring },
  gt: compared((sign) => sign > 0),
  ge: compared((sign) => sign >= 0),
  lt: compared((sign) => sign < 0),
  le: compared((sign) => sign <= 0),
  ne: { least: 2, most: 2, call: ([a, b], refuse) => !equal(a!, b!, refuse) },
  eq: { least: 2, most: MOST, call: ([a, ...others], refuse) => others.some((b) => equal(a!, b, refuse)) },
  not: { least: 1, most: 1, call: ([of]) => !isTrue(of!) },
  and: { least: 1, most: MOST, call: ([of]) => of! },
  or: { least: 1, most: MOST, call: ([of]) => of! },
};
