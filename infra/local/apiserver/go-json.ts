// JSON text → value, with what JSON.parse does not tell: fields that came twice, nesting that is too deep, and syntax
// errors in the words of Go's scanner. Knows no kind.
import { isJsonObject, type Json } from "../../../shared/kubernetes/json.ts";
import { parseSlowly } from "./go-json-parser.ts";

/** The objects that have a field twice, with all their fields as they came; the values hold the last of each. */
export type Duplicates = Map<object, [string, Json][]>;

export type ParsedJson = { value: Json; duplicates: Duplicates | undefined } | { error: string };

/** encoding/json's limit of nesting. */
export const maxDepth = 10_000;

const quoteCode = 0x22;
const backslashCode = 0x5c;
const colonCode = 0x3a;
const openBrace = 0x7b;
const openBracket = 0x5b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

/** How many fields the text has, and how deep it goes. Exact for text that is JSON. */
function measure(text: string): { fields: number; depth: number } {
  let fields = 0;
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === quoteCode) inString = !inString;
    else if (inString) index += code === backslashCode ? 1 : 0;
    else if (code === colonCode) fields++;
    else if (code === openBrace || code === openBracket) deepest = Math.max(deepest, ++depth);
    else if (code === closeBrace || code === closeBracket) depth--;
  }
  return { fields, depth: deepest };
}

function countFields(value: Json): number {
  let fields = 0;
  const pending: Json[] = [value];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const items = Array.isArray(next) ? next : isJsonObject(next) ? Object.values(next) : [];
    if (!Array.isArray(next)) fields += items.length;
    for (const item of items) if (typeof item === "object" && item !== null) pending.push(item);
  }
  return fields;
}

/** Deeper than any kind goes. */
const keptDepth = 100;

/** The value without what is too deep to be of any kind, so that nobody after this can exhaust the stack with it. */
function shallow(value: Json, depth: number): Json {
  if (Array.isArray(value)) return depth === 0 ? [] : value.map((item) => shallow(item, depth - 1));
  if (!isJsonObject(value)) return value;
  if (depth === 0) return {};
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, shallow(item ?? null, depth - 1)]),
  );
}

/** `strict` looks for fields that came twice. */
export function parseGoJson(text: string, strict: boolean): ParsedJson {
  const { fields, depth } = measure(text);
  if (depth > maxDepth) return parseSlowly(text, maxDepth);
  try {
    const value: Json = JSON.parse(text);
    if (depth > keptDepth) return { value: shallow(value, keptDepth), duplicates: undefined };
    if (!strict || countFields(value) === fields) return { value, duplicates: undefined };
  } catch {
    // Read again below, for the error's text.
  }
  return parseSlowly(text, maxDepth);
}
