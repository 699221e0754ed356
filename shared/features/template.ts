// Expands the part of Go's templates that rules of node-feature-discovery use. It has fields, range, if, comparisons, len,
// index, and sprig's first, trim and substr. Anything else is refused with its line and word. No template can run for
// long: a range ends with its elements, and the text has a limit.
import { trimSpace } from "../go/strings.ts";
import { type MatchedFeatures, RuleFault } from "./match.ts";

/** The most bytes of a template, as in NFD, and of its text. */
export const TEMPLATE_BYTES = 64 * 1024;
/** The most nested parts, and the most words of an action. They bound the depth of the calls. */
const DEEPEST = 32;
const MOST_TOKENS = 256;

type Value = string | number | boolean | readonly Value[] | ReadonlyMap<string, Value>;

type Operand =
  | { is: "value"; value: Value }
  | { is: "field"; of: Operand | null; name: string }
  | { is: "call"; name: string; args: Operand[]; at: Token };

type Part =
  | { is: "text"; text: string }
  | { is: "output"; of: Operand }
  | { is: "if" | "range"; of: Operand; inner: Part[]; otherwise: Part[] };

interface Token {
  text: string;
  line: number;
  /** Whether a blank is before the token: `.a .b` are two operands, `.a.b` is one. */
  isApart: boolean;
}

/** Returns the keys and values of the template's lines `KEY=VALUE`. Throws a RuleFault. */
export function expand(template: string, matched: MatchedFeatures): Map<string, string> {
  if (template === "") return new Map();
  const text = new Expansion().text(parseTemplate(template), matched);
  const lines = text.split("\n").map(trimSpace);
  return new Map(lines.filter((line) => line !== "").map(entryOf));
}

function entryOf(line: string): [key: string, value: string] {
  const equals = line.indexOf("=");
  if (equals === -1) throw new RuleFault(`the template's line ${line} has no value: expected KEY=VALUE`);
  return [line.slice(0, equals), line.slice(equals + 1)];
}

/** Parses a template. Throws a RuleFault with the line and the word that is not supported. */
export function parseTemplate(template: string): Part[] {
  if (new TextEncoder().encode(template).length > TEMPLATE_BYTES)
    throw new RuleFault(`a template of more than ${TEMPLATE_BYTES} bytes`);
  return new Parser(template).all();
}

/** An action with its markers for trimming, or a comment. No text matches in two ways, so that the time is linear. */
const ACTION =
  /\{\{(?<left>- )?(?<inside>\s*\/\*[^]*?\*\/(?=(?:\s-)?\}\})|(?:"(?:[^"\\\n]|\\.)*"|`[^`]*`|[^"`])*?)(?<right>\s-)?\}\}/y;
const TOKEN = /"(?:[^"\\\n]|\\.)*"|`[^`]*`|-?[0-9]+(?![\w.])|\.[A-Za-z_]\w*|\.|[A-Za-z_]\w*|[()|]/y;

class Parser {
  readonly #actions: { tokens: Token[]; line: number; text: string }[] = [];
  #at = 0;
  #depth = 0;

  /** Splits the template into texts and actions. */
  constructor(template: string) {
    let from = 0;
    let line = 1;
    let isTrimmed = false;
    for (;;) {
      const start = template.indexOf("{{", from);
      const text = template.slice(from, start === -1 ? undefined : start);
      const before = isTrimmed ? text.replace(/^[ \t\r\n]+/, "") : text;
      if (start === -1) {
        this.#actions.push({ tokens: [], line: 0, text: before });
        return;
      }
      line += lineBreaks(text);
      ACTION.lastIndex = start;
      const {
        left,
        inside = "",
        right,
      } = ACTION.exec(template)?.groups ?? fault({ line, text: "{{" }, "is not closed");
      const isComment = /^\s*\/\*[^]*\*\/$/.test(inside);
      const tokens = isComment ? [] : tokensOf(inside, line);
      if (tokens.length === 0 && !isComment) fault({ line, text: "{{" }, "has nothing in it");
      this.#actions.push({
        tokens,
        line,
        text: left === undefined ? before : withoutBlanksAtEnd(before),
      });
      isTrimmed = right !== undefined;
      from = ACTION.lastIndex;
      line += lineBreaks(template.slice(start, from));
    }
  }

  all(): Part[] {
    const { parts, end } = this.#parts();
    if (end !== null) fault(end, "has no beginning");
    return parts;
  }

  /** Parses parts up to `end` or `else`, whose tokens it returns; null at the template's end. */
  #parts(): { parts: Part[]; end: Token | null; rest: Token[] } {
    const parts: Part[] = [];
    if (++this.#depth > DEEPEST) throw new RuleFault(`a template with more than ${DEEPEST} nested parts`);
    while (this.#at < this.#actions.length) {
      const { text, tokens } = this.#actions[this.#at++]!;
      if (text !== "") parts.push({ is: "text", text });
      const [first, ...rest] = tokens;
      if (!first) continue;
      if (first.text === "end" || first.text === "else") {
        this.#depth--;
        if (first.text === "end" && rest[0]) fault(rest[0], "is after end");
        return { parts, end: first, rest };
      }
      if (first.text === "if" || first.text === "range") parts.push(this.#block(first, rest));
      else parts.push({ is: "output", of: pipelineOf(tokens, first) });
    }
    this.#depth--;
    return { parts, end: null, rest: [] };
  }

  #block(kind: Token, condition: Token[]): Part {
    const of = pipelineOf(condition, kind);
    const is = kind.text === "if" ? "if" : "range";
    const { parts, end, rest } = this.#parts();
    if (end === null) return fault(kind, "has no end");
    if (end.text === "end") return { is, of, inner: parts, otherwise: [] };
    const [next, ...more] = rest;
    if (next && next.text !== "if") fault(next, "is after else");
    if (next) {
      this.#depth++;
      const otherwise = [this.#block(next, more)];
      this.#depth--;
      return { is, of, inner: parts, otherwise };
    }
    const last = this.#parts();
    if (last.end?.text !== "end") fault(last.end ?? kind, last.end ? "is after else" : "has no end");
    return { is, of, inner: parts, otherwise: last.parts };
  }
}

const lineBreaks = (text: string) => text.split("\n").length - 1;

function withoutBlanksAtEnd(text: string): string {
  let end = text.length;
  while (end > 0 && " \t\r\n".includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

function fault(at: { line: number; text: string }, why: string): never {
  throw new RuleFault(`line ${at.line} of the template: ${at.text} ${why}`);
}

function tokensOf(inside: string, line: number): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < inside.length;) {
    const blanks = /^\s+/.exec(inside.slice(at))?.[0].length ?? 0;
    at += blanks;
    if (at === inside.length) break;
    TOKEN.lastIndex = at;
    const text = TOKEN.exec(inside)?.[0];
    const here = line + inside.slice(0, at).split("\n").length - 1;
    if (text === undefined)
      return fault({ line: here, text: /^\S+/.exec(inside.slice(at))?.[0] ?? "" }, "is not supported");
    tokens.push({ text, line: here, isApart: blanks > 0 });
    if (tokens.length > MOST_TOKENS)
      fault({ line: here, text }, `is after ${MOST_TOKENS} words of one action`);
    at += text.length;
  }
  return tokens;
}

/** Parses `a | b | c`: each command gets the result of the one before as its last argument. */
function pipelineOf(tokens: readonly Token[], before: Token): Operand {
  const commands: Token[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    depth += token.text === "(" ? 1 : token.text === ")" ? -1 : 0;
    if (token.text === "|" && depth === 0) commands.push([]);
    else commands.at(-1)!.push(token);
  }
  return commands.reduce<Operand | null>((piped, command) => commandOf(command, piped, before), null)!;
}

/** Parses a function with its arguments, or one operand. */
function commandOf(tokens: readonly Token[], piped: Operand | null, before: Token): Operand {
  const [first] = tokens;
  if (!first) return fault(before, "lacks a value");
  const isCall = /^[A-Za-z_]/.test(first.text) && first.text !== "true" && first.text !== "false";
  const args: Operand[] = [];
  for (let at = isCall ? 1 : 0; at < tokens.length;) {
    const [operand, next] = operandAt(tokens, at);
    args.push(operand);
    at = next;
  }
  if (piped) args.push(piped);
  if (!isCall)
    return args.length === 1 ? args[0]! : fault(tokens[1] ?? first, "is an argument without a function");
  const own = Object.hasOwn(FUNCTIONS, first.text) ? FUNCTIONS[first.text] : undefined;
  if (!own) return fault(first, "is not supported");
  return { is: "call", name: first.text, args, at: first };
}

/** Parses the operand at a place. Returns it with the place after it. */
function operandAt(tokens: readonly Token[], at: number): [operand: Operand, next: number] {
  const token = tokens[at]!;
  let [operand, next]: [Operand | null, number] = [null, at];
  if (token.text === "(") {
    let depth = 1;
    for (next = at + 1; next < tokens.length && depth > 0; next++)
      depth += tokens[next]!.text === "(" ? 1 : tokens[next]!.text === ")" ? -1 : 0;
    if (depth > 0) fault(token, "is not closed");
    operand = pipelineOf(tokens.slice(at + 1, next - 1), token);
  } else if (token.text === ".") [operand, next] = [DOT, at + 1];
  else if (!token.text.startsWith(".")) [operand, next] = [{ is: "value", value: literalOf(token) }, at + 1];
  for (; next < tokens.length && /^\.\w/.test(tokens[next]!.text); next++) {
    if (next > at && tokens[next]!.isApart) break;
    operand = { is: "field", of: operand, name: tokens[next]!.text.slice(1) };
  }
  return [operand ?? DOT, next];
}

/** The value that `.` stands for. */
const DOT: Operand = { is: "field", of: null, name: "" };

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\\": "\\", '"': '"' };

function literalOf(token: Token): Value {
  const { text } = token;
  if (text === "true" || text === "false") return text === "true";
  if (text.startsWith("`")) return text.slice(1, -1);
  if (/^-?(?:0|[1-9][0-9]{0,14})$/.test(text)) return Number(text);
  if (!text.startsWith('"')) return fault(token, "is not supported");
  return text
    .slice(1, -1)
    .replaceAll(
      /\\(.)/g,
      (escape, letter: string) => ESCAPES[letter] ?? fault({ ...token, text: escape }, "is not supported"),
    );
}

class Expansion {
  #length = 0;

  text(parts: readonly Part[], dot: Value): string {
    const texts = parts.map((part) => {
      if (part.is === "text") return this.#counted(part.text);
      const value = valueOf(part.of, dot);
      if (part.is === "output") return this.#counted(textOf(value));
      if (part.is === "if") return this.text(isTrue(value) ? part.inner : part.otherwise, dot);
      const elements = elementsOf(value);
      return elements.length === 0
        ? this.text(part.otherwise, dot)
        : elements.map((element) => this.text(part.inner, element)).join("");
    });
    return texts.join("");
  }

  #counted(text: string): string {
    this.#length += text.length;
    if (this.#length > TEMPLATE_BYTES)
      throw new RuleFault(`the template's text has more than ${TEMPLATE_BYTES} characters`);
    return text;
  }
}

const isMap = (value: Value): value is ReadonlyMap<string, Value> => value instanceof Map;
const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

function elementsOf(value: Value): readonly Value[] {
  if (isList(value)) return value;
  if (isMap(value)) return [...value].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, element]) => element);
  throw new RuleFault(`range over ${textOf(value)}: expected a list`);
}

/** Returns false for an empty or zero value, like Go's templates. */
const isTrue = (value: Value): boolean =>
  isList(value) ? value.length > 0 : isMap(value) ? value.size > 0 : Boolean(value);

/** Returns the text of a value like fmt.Sprint. */
function textOf(value: Value): string {
  if (isList(value)) return `[${value.map(textOf).join(" ")}]`;
  if (!isMap(value)) return String(value);
  const entries = [...value].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, each]) => `${key}:${textOf(each)}`).join(" ")}]`;
}

function valueOf(operand: Operand, dot: Value): Value {
  if (operand.is === "value") return operand.value;
  if (operand.is === "call") return called(operand, dot);
  const of = operand.of === null ? dot : valueOf(operand.of, dot);
  if (operand === DOT) return of;
  const field = isMap(of) ? of.get(operand.name) : undefined;
  if (field === undefined)
    throw new RuleFault(`the template's .${operand.name} does not exist in ${textOf(of).slice(0, 100)}`);
  return field;
}

function called({ name, args, at }: Extract<Operand, { is: "call" }>, dot: Value): Value {
  const { least, most, call } = FUNCTIONS[name]!;
  if (args.length < least || args.length > most) fault(at, `takes ${least} to ${most} arguments`);
  // Like Go, `and` and `or` do not evaluate what cannot count.
  if (name === "and" || name === "or") {
    let value: Value = "";
    for (const arg of args) {
      value = valueOf(arg, dot);
      if (isTrue(value) === (name === "or")) break;
    }
    return value;
  }
  return call(
    args.map((arg) => valueOf(arg, dot)),
    (why) => fault(at, why),
  );
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
  if (typeof a === "object" || typeof a !== typeof b)
    return refuse("compares texts, numbers or truth values");
  return a === b;
};

const MOST = 16;
const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  len: {
    least: 1,
    most: 1,
    call: ([of], refuse) => {
      if (typeof of === "string") return new TextEncoder().encode(of).length;
      return isList(of!) ? of.length : isMap(of!) ? of.size : refuse("counts a list");
    },
  },
  index: {
    least: 1,
    most: MOST,
    call: ([of, ...places], refuse) =>
      places.reduce<Value>((value, place) => {
        if (isList(value) && typeof place === "number")
          return value[place] ?? refuse(`has no element ${place}`);
        // Go returns the empty text for a key that an element lacks. The zero value of another map is no text.
        if (isMap(value) && typeof place === "string") return value.get(place) ?? "";
        return refuse(`takes a number for a list, and a text for an element`);
      }, of!),
  },
  first: {
    least: 1,
    most: 1,
    call: ([of], refuse) => (isList(of!) ? (of[0] ?? refuse("has no element")) : refuse("takes a list")),
  },
  trim: {
    least: 1,
    most: 1,
    call: ([of], refuse) => (typeof of === "string" ? trimSpace(of) : refuse("takes a text")),
  },
  substr: {
    least: 3,
    most: 3,
    call: ([start, end, of], refuse) => {
      if (typeof start !== "number" || typeof end !== "number" || typeof of !== "string")
        return refuse("takes two numbers and a text");
      if (start < 0) return of.slice(0, end);
      return end < 0 || end > of.length ? of.slice(start) : of.slice(start, end);
    },
  },
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
