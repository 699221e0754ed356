// Parses the part of Go's templates that rules of node-feature-discovery use: fields, range, if, functions, pipelines and
// comments. Anything else is refused with its line and word.
import { parseInteger } from "../go/integer.ts";
import { RuleFault } from "./effort.ts";

/** The most bytes of a template, as in NFD, and of its text. */
export const TEMPLATE_BYTES = 64 * 1024;
/** The most nested parts, and the most words of an action. They bound the depth of the calls. */
const DEEPEST = 32;
const MOST_TOKENS = 256;

/** null is the first element of an empty list. */
export type Value = string | number | boolean | null | readonly Value[] | ReadonlyMap<string, Value>;

/** The functions of template.ts. */
const FUNCTION_NAMES = [
  "and",
  "eq",
  "first",
  "ge",
  "gt",
  "index",
  "le",
  "len",
  "lt",
  "ne",
  "not",
  "or",
  "substr",
  "trim",
] as const;
export type FunctionName = (typeof FUNCTION_NAMES)[number];

export type Operand =
  | { is: "value"; value: Value }
  | { is: "field"; of: Operand | null; name: string }
  | { is: "call"; name: FunctionName; args: Operand[]; at: Token };

/** `words` is the number of words of the action, as a measure of its time. */
export type Part =
  | { is: "text"; text: string }
  | { is: "output"; of: Operand; words: number }
  | { is: "if" | "range"; of: Operand; words: number; inner: Part[]; otherwise: Part[] };

interface Token {
  text: string;
  line: number;
  /** Whether a blank is before the token: `.a .b` are two operands, `.a.b` is one. */
  isApart: boolean;
}

/** Parses a template. Throws a RuleFault with the line and the word that is not supported. */
export function parseTemplate(template: string): Part[] {
  if (new TextEncoder().encode(template).length > TEMPLATE_BYTES)
    throw new RuleFault(`a template of more than ${TEMPLATE_BYTES} bytes`);
  return new Parser(template).all();
}

/** An action with its markers for trimming, or a comment. No text matches in two ways, so that the time is linear. */
const ACTION =
  /\{\{(?<left>-[ \t\r\n])?(?:(?<comment>\/\*(?:(?!\*\/)[^])*\*\/)(?=(?:[ \t\r\n]-)?\}\})|(?<inside>(?:"(?:[^"\\\n]|\\[^\n])*"|`[^`]*`|[^"`])*?))(?<right>[ \t\r\n]-)?\}\}/y;
/** A blank, a dot, a parenthesis or the action's end follows a name, as in Go's atTerminator. */
const TOKEN =
  /"(?:[^"\\\n]|\\[^\n])*"|`[^`]*`|[-+]?[0-9][0-9a-zA-Z_]*(?![\p{L}\p{Nd}_.])|(?:\.(?:[\p{L}_][\p{L}\p{Nd}_]*)?|[\p{L}_][\p{L}\p{Nd}_]*)(?=[ \t\r\n.,|:()]|$)|[()|]/uy;

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
        comment,
        inside = "",
        right,
      } = ACTION.exec(template)?.groups ?? fault({ line, text: "{{" }, "is not closed");
      const tokens = tokensOf(inside, line);
      if (tokens.length === 0 && comment === undefined) fault({ line, text: "{{" }, "has nothing in it");
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
      else parts.push({ is: "output", of: pipelineOf(tokens, first), words: tokens.length });
    }
    this.#depth--;
    return { parts, end: null, rest: [] };
  }

  #block(kind: Token, condition: Token[]): Part {
    const of = pipelineOf(condition, kind);
    const words = condition.length;
    const is = kind.text === "if" ? "if" : "range";
    const { parts, end, rest } = this.#parts();
    if (end === null) return fault(kind, "has no end");
    if (end.text === "end") return { is, of, words, inner: parts, otherwise: [] };
    const [next, ...more] = rest;
    if (next && (next.text !== "if" || is === "range")) fault(next, "is after else");
    if (next) {
      this.#depth++;
      const otherwise = [this.#block(next, more)];
      this.#depth--;
      return { is, of, words, inner: parts, otherwise };
    }
    const last = this.#parts();
    if (last.end?.text !== "end") fault(last.end ?? kind, last.end ? "is after else" : "has no end");
    return { is, of, words, inner: parts, otherwise: last.parts };
  }
}

const lineBreaks = (text: string) => text.split("\n").length - 1;

function withoutBlanksAtEnd(text: string): string {
  let end = text.length;
  while (end > 0 && " \t\r\n".includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

export function fault(at: { line: number; text: string }, why: string): never {
  throw new RuleFault(`line ${at.line} of the template: ${at.text} ${why}`);
}

function tokensOf(inside: string, line: number): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < inside.length;) {
    const blanks = /^[ \t\r\n]+/.exec(inside.slice(at))?.[0].length ?? 0;
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
  // Go ignores a pipe at the end.
  if (commands.length > 1 && commands.at(-1)!.length === 0) commands.pop();
  return commands.reduce<Operand | null>((piped, command) => commandOf(command, piped, before), null)!;
}

/** Parses a function with its arguments, or one operand. */
function commandOf(tokens: readonly Token[], piped: Operand | null, before: Token): Operand {
  const [first] = tokens;
  if (!first) return fault(before, "lacks a value");
  const isCall = /^[A-Za-z_]/.test(first.text) && first.text !== "true" && first.text !== "false";
  const args: Operand[] = [];
  for (let at = isCall ? 1 : 0; at < tokens.length;) {
    const token = tokens[at]!;
    if (at > 0 && !token.isApart) fault(token, "has no blank before it");
    const [operand, next] = operandAt(tokens, at);
    args.push(operand);
    at = next;
  }
  if (piped) args.push(piped);
  if (!isCall)
    return args.length === 1 ? args[0]! : fault(tokens[1] ?? first, "is an argument without a function");
  const name = FUNCTION_NAMES.find((each) => each === first.text) ?? fault(first, "is not supported");
  return { is: "call", name, args, at: first };
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
  for (
    ;
    next < tokens.length && tokens[next]!.text.length > 1 && tokens[next]!.text.startsWith(".");
    next++
  ) {
    if (next > at && tokens[next]!.isApart) break;
    // In parentheses, Go finds this fault only if it evaluates the value.
    if (token.text !== "(" && (operand === DOT || operand?.is === "value"))
      fault(tokens[next]!, `is after ${token.text}`);
    operand = { is: "field", of: operand, name: tokens[next]!.text.slice(1) };
  }
  return [operand ?? DOT, next];
}

/** The value that `.` stands for. */
export const DOT: Operand = { is: "field", of: null, name: "" };

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
};

function literalOf(token: Token): Value {
  const { text } = token;
  if (text === "true" || text === "false") return text === "true";
  if (text.startsWith("`")) return text.slice(1, -1);
  const number = parseInteger(text);
  if (number !== null) return number;
  if (!text.startsWith('"')) return fault(token, "is not supported");
  return text
    .slice(1, -1)
    .replaceAll(
      /\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-7][0-9A-Fa-f])|([01][0-7]{2})|([^]))/g,
      (escape, short?: string, long?: string, hex?: string, octal?: string, letter?: string) => {
        const code =
          octal === undefined ? Number.parseInt(short ?? long ?? hex ?? "", 16) : Number.parseInt(octal, 8);
        const text =
          letter === undefined
            ? code > 0x10_ff_ff
              ? "\ud800"
              : String.fromCodePoint(code)
            : ESCAPES[letter];
        return text?.isWellFormed() ? text : fault({ ...token, text: escape }, "is not supported");
      },
    );
}
