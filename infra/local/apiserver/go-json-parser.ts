// A JSON parser that keeps fields that came twice and fails in the words of Go's encoding/json scanner. Slow, and only
// for what JSON.parse cannot answer: see go-json.ts. It does not recurse, so that no nesting can exhaust the stack.
import type { Json, JsonObject } from "../../../shared/kubernetes/json.ts";
import type { Duplicates, ParsedJson } from "./go-json.ts";

interface OpenList {
  list: Json[];
}

interface OpenObject {
  entries: [string, Json][];
  key: string;
}

/** What a parser is in the middle of. */
interface Parser {
  text: string;
  index: number;
  open: (OpenList | OpenObject)[];
  duplicates: Duplicates;
  /** What is wrong with the text; parsing ends there. */
  error: string | undefined;
}

/** Go's quoteChar: the character as its scanner sees it, a byte. */
function quoteCharacter(character: string): string {
  if (character === "'") return String.raw`'\''`;
  if (character === '"') return `'"'`;
  const byte = Buffer.from(character)[0] ?? 0;
  if (byte >= 0xa0) return `'${String.fromCharCode(byte)}'`;
  if (byte >= 0x7f)
    return String.raw`'\u00${byte.toString(16)}'`.replace(String.raw`\u007f`, String.raw`\x7f`);
  const short: Record<string, string> = { "\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\\": "\\" };
  if (short[character]) return `'\\${short[character]}'`;
  if (byte === 7 || byte === 11) return byte === 7 ? String.raw`'\a'` : String.raw`'\v'`;
  return byte < 0x20 ? String.raw`'\x${byte.toString(16).padStart(2, "0")}'` : `'${character}'`;
}

/** Leaves the parser: parseSlowly catches it and returns the text. */
function fail(parser: Parser, context: string): never {
  const codePoint = parser.text.codePointAt(parser.index);
  parser.error =
    codePoint === undefined
      ? "unexpected end of JSON input"
      : `invalid character ${quoteCharacter(String.fromCodePoint(codePoint))} ${context}`;
  throw new Error(parser.error);
}

function skipSpace(parser: Parser): string | undefined {
  while (" \t\r\n".includes(parser.text[parser.index] ?? "x")) parser.index++;
  return parser.text[parser.index];
}

function readEscape(parser: Parser): void {
  parser.index++;
  const character = parser.text[parser.index] ?? "";
  if (character !== "u") {
    if (character === "" || !'bfnrt\\/"'.includes(character)) fail(parser, "in string escape code");
    return;
  }
  for (let digit = 0; digit < 4; digit++) {
    parser.index++;
    if (!/^[0-9a-fA-F]$/.test(parser.text[parser.index] ?? ""))
      fail(parser, String.raw`in \u hexadecimal character escape`);
  }
}

function readString(parser: Parser): string {
  const start = parser.index;
  for (parser.index++; parser.text[parser.index] !== '"'; parser.index++) {
    const character = parser.text[parser.index];
    if (character === undefined || character < " ") fail(parser, "in string literal");
    if (character === "\\") readEscape(parser);
  }
  parser.index++;
  const text: string = JSON.parse(parser.text.slice(start, parser.index));
  return text;
}

function readDigits(parser: Parser, context: string): void {
  if (!/^\d$/.test(parser.text[parser.index] ?? "")) fail(parser, context);
  while (/^\d$/.test(parser.text[parser.index] ?? "")) parser.index++;
}

function readNumber(parser: Parser): number {
  const start = parser.index;
  if (parser.text[parser.index] === "-") parser.index++;
  if (parser.text[parser.index] === "0") parser.index++;
  else readDigits(parser, "in numeric literal");
  if (parser.text[parser.index] === ".") {
    parser.index++;
    readDigits(parser, "after decimal point in numeric literal");
  }
  if (/^[eE]$/.test(parser.text[parser.index] ?? "")) {
    parser.index++;
    if (/^[+-]$/.test(parser.text[parser.index] ?? "")) parser.index++;
    readDigits(parser, "in exponent of numeric literal");
  }
  return Number(parser.text.slice(start, parser.index));
}

function readWord(parser: Parser, word: string, value: Json): Json {
  for (const [position, character] of Array.from(word).entries()) {
    if (position > 0 && parser.text[parser.index] !== character)
      fail(parser, `in literal ${word} (expecting '${character}')`);
    parser.index++;
  }
  return value;
}

function readScalar(parser: Parser, first: string | undefined): Json {
  if (first === '"') return readString(parser);
  if (first === "t") return readWord(parser, "true", true);
  if (first === "f") return readWord(parser, "false", false);
  if (first === "n") return readWord(parser, "null", null);
  if (first !== undefined && /^[-\d]$/.test(first)) return readNumber(parser);
  return fail(parser, "looking for beginning of value");
}

function readKey(parser: Parser, object: OpenObject): void {
  if (skipSpace(parser) !== '"') fail(parser, "looking for beginning of object key string");
  object.key = readString(parser);
  if (skipSpace(parser) !== ":") fail(parser, "after object key");
  parser.index++;
}

/** The innermost list or object, finished. */
function close(parser: Parser): Json {
  parser.index++;
  const closed = parser.open.pop();
  if (!closed || "list" in closed) return closed?.list ?? null;
  const object: JsonObject = Object.fromEntries(closed.entries);
  if (Object.keys(object).length < closed.entries.length) parser.duplicates.set(object, closed.entries);
  return object;
}

/** Opens a list or an object; its value when it is empty. */
function openContainer(parser: Parser, first: string, maxDepth: number): Json | undefined {
  if (parser.open.length >= maxDepth) fail(parser, "exceeded max depth");
  parser.index++;
  const object: OpenObject = { entries: [], key: "" };
  parser.open.push(first === "[" ? { list: [] } : object);
  const next = skipSpace(parser);
  if (next === (first === "[" ? "]" : "}")) return close(parser);
  if (first === "{") readKey(parser, object);
  return undefined;
}

/** Puts a value where it belongs; the whole document when that was its last one. */
function place(parser: Parser, value: Json): Json | undefined {
  let placed = value;
  for (;;) {
    const container = parser.open.at(-1);
    if (!container) return placed;
    if ("list" in container) container.list.push(placed);
    else container.entries.push([container.key, placed]);
    const next = skipSpace(parser);
    const isList = "list" in container;
    if (next === ",") {
      parser.index++;
      if (!isList) readKey(parser, container);
      return undefined;
    }
    if (next !== (isList ? "]" : "}"))
      fail(parser, isList ? "after array element" : "after object key:value pair");
    placed = close(parser);
  }
}

function parseDocument(parser: Parser, maxDepth: number): Json {
  for (;;) {
    const first = skipSpace(parser);
    const value =
      first === "{" || first === "[" ? openContainer(parser, first, maxDepth) : readScalar(parser, first);
    const document = value === undefined ? undefined : place(parser, value);
    if (document === undefined) continue;
    if (skipSpace(parser) !== undefined) fail(parser, "after top-level value");
    return document;
  }
}

export function parseSlowly(text: string, maxDepth: number): ParsedJson {
  const parser: Parser = { text, index: 0, open: [], duplicates: new Map(), error: undefined };
  try {
    return { value: parseDocument(parser, maxDepth), duplicates: parser.duplicates };
  } catch (error) {
    if (parser.error !== undefined) return { error: parser.error };
    throw error;
  }
}
