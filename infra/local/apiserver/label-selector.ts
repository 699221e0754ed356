// Label selectors: text → predicate. Mirrors apimachinery's labels.Parse, its lexer, its grammar and its errors.
import { labelKeyErrors, labelValueErrors } from "../../../shared/kubernetes/validation.ts";

export type Labels = Record<string, string>;
type Predicate = (labels: Labels) => boolean;

interface Token {
  /** "identifier", "end", "error", or the text of an operator or a bracket. */
  kind: string;
  text: string;
}

const symbols = new Set(["=", "!", "(", ")", ",", ">", "<"]);
const doubleSymbols = new Set(["==", "!="]);
const keywords = new Set(["in", "notin"]);
const whitespace = new Set([" ", "\t", "\r", "\n"]);

function symbolAt(text: string, start: number): Token {
  const two = text.slice(start, start + 2);
  const found = doubleSymbols.has(two) ? two : (text[start] ?? "");
  return { kind: found, text: found };
}

function wordAt(text: string, start: number): Token {
  let end = start;
  while (end < text.length && !symbols.has(text[end] ?? "") && !whitespace.has(text[end] ?? "")) end++;
  const word = text.slice(start, end);
  return { kind: keywords.has(word) ? word : "identifier", text: word };
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let position = 0; position < text.length;) {
    const next = text[position] ?? "";
    if (whitespace.has(next)) {
      position++;
      continue;
    }
    const token = symbols.has(next) ? symbolAt(text, position) : wordAt(text, position);
    tokens.push(token);
    position += token.text.length;
  }
  return [...tokens, { kind: "end", text: "" }];
}

/** The tokens from a place on; each step of the grammar moves the place. The first error ends all steps. */
interface Parser {
  tokens: Token[];
  position: number;
  /** What is being parsed, in front of an error. */
  context: string;
  error?: string;
}

function fail(parser: Parser, error: string): void {
  parser.error ??= parser.context + error;
  parser.position = parser.tokens.length;
}

const end: Token = { kind: "end", text: "" };

function peek(parser: Parser): Token {
  return parser.tokens[parser.position] ?? end;
}

function take(parser: Parser): Token {
  const token = peek(parser);
  parser.position++;
  return token;
}

/** Where a value is expected, `in` and `notin` are words like any other. */
function isWord({ kind }: Token): boolean {
  return kind === "identifier" || keywords.has(kind);
}

/** parseIdentifiersList: values between the brackets, also empty ones. */
function parseList(parser: Parser): string[] {
  const values: string[] = [];
  while (parser.error === undefined) {
    const token = take(parser);
    if (isWord(token)) {
      values.push(token.text);
      const next = peek(parser);
      if (next.kind === ")") return values;
      if (next.kind !== ",") fail(parser, `found '${next.text}', expected: ',' or ')'`);
    } else if (token.kind === ",") {
      if (values.length === 0) values.push("");
      const next = peek(parser).kind;
      if (next === ")" || next === ",") values.push("");
      if (next === ")") return values;
    } else {
      fail(parser, `found '${token.text}', expected: ',', or identifier`);
    }
  }
  return values;
}

function parseValues(parser: Parser): string[] {
  const open = take(parser);
  if (open.kind !== "(") fail(parser, `found '${open.text}' expected: '('`);
  const first = peek(parser);
  if (first.kind === ")") {
    take(parser);
    return [""];
  }
  if (!isWord(first) && first.kind !== ",") {
    fail(parser, `found '${first.text}', expected: ',', ')' or identifier`);
  }
  const values = parseList(parser);
  take(parser);
  return [...new Set(values)].sort();
}

function parseValue(parser: Parser): string[] {
  const next = peek(parser).kind;
  if (next === "end" || next === ",") return [""];
  const value = take(parser);
  if (!isWord(value)) fail(parser, `found '${value.text}', expected: identifier`);
  return [value.text];
}

const operators = new Set(["in", "notin", "=", "==", "!=", ">", "<"]);

/** 64-bit, as strconv.ParseInt takes it; undefined when it is none. */
function integer(text: string): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** labels.NewRequirement's checks: one error as it is, several in brackets. */
function checkRequirement(parser: Parser, key: string, operator: string, values: string[]): void {
  const errors: string[] = [];
  if ((operator === ">" || operator === "<") && integer(values[0] ?? "") === undefined) {
    const why = "for 'Gt', 'Lt' operators, the value must be an integer";
    errors.push(`values[0]: Invalid value: ${JSON.stringify(values[0])}: ${why}`);
  }
  for (const [index, value] of values.entries()) {
    const faults = labelValueErrors(value).join("; ");
    if (faults !== "") {
      errors.push(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${faults}`);
    }
  }
  const distinct = [...new Set(errors)];
  if (distinct.length > 0)
    fail(parser, distinct.length === 1 ? distinct.join("") : `[${distinct.join(", ")}]`);
}

function comparison(key: string, operator: string, limit: bigint): Predicate {
  return (labels) => {
    const value = labels[key] === undefined ? undefined : integer(labels[key]);
    if (value === undefined) return false;
    return operator === ">" ? value > limit : value < limit;
  };
}

function predicate(key: string, operator: string, values: string[]): Predicate {
  switch (operator) {
    case ">":
    case "<":
      return comparison(key, operator, integer(values[0] ?? "") ?? 0n);
    case "!=":
    case "notin":
      return (labels) => labels[key] === undefined || !values.includes(labels[key]);
    default:
      return (labels) => labels[key] !== undefined && values.includes(labels[key]);
  }
}

function parseRequirement(parser: Parser): Predicate {
  const isAbsent = peek(parser).kind === "!";
  if (isAbsent) take(parser);
  const { kind, text: key } = take(parser);
  if (!isWord({ kind, text: key })) fail(parser, `found '${key}', expected: identifier`);
  const faults = labelKeyErrors(key).join("; ");
  if (faults !== "") fail(parser, `<nil>: Invalid value: ${JSON.stringify(key)}: ${faults}`);
  if (isAbsent) return (labels) => labels[key] === undefined;
  const next = peek(parser).kind;
  if (next === "end" || next === ",") return (labels) => labels[key] !== undefined;
  const operator = take(parser);
  if (!operators.has(operator.kind)) {
    fail(parser, `found '${operator.text}', expected: in, notin, =, ==, !=, gt, lt`);
  }
  const values = keywords.has(operator.kind) ? parseValues(parser) : parseValue(parser);
  checkRequirement(parser, key, operator.kind, values);
  return predicate(key, operator.kind, values);
}

function parseRequirements(parser: Parser): Predicate[] {
  const predicates: Predicate[] = [];
  while (peek(parser).kind !== "end") {
    const start = peek(parser);
    if (!isWord(start) && start.kind !== "!") {
      fail(parser, `found '${start.text}', expected: !, identifier, or 'end of string'`);
    }
    parser.context = "unable to parse requirement: ";
    predicates.push(parseRequirement(parser));
    parser.context = "";
    const separator = take(parser);
    if (separator.kind === "end") break;
    if (separator.kind !== ",") fail(parser, `found '${separator.text}', expected: ',' or 'end of string'`);
    const next = peek(parser);
    if (!isWord(next) && next.kind !== "!") {
      fail(parser, `found '${next.text}', expected: identifier after ','`);
    }
  }
  return predicates;
}

export type LabelSelector = { matches: Predicate; isEmpty: boolean } | { error: string };

/** An empty selector matches everything. */
export function parseLabelSelector(selector: string): LabelSelector {
  const parser: Parser = { tokens: tokensOf(selector), position: 0, context: "" };
  const predicates = parseRequirements(parser);
  if (parser.error !== undefined) return { error: parser.error };
  return {
    matches: (labels) => predicates.every((matches) => matches(labels)),
    isEmpty: predicates.length === 0,
  };
}
