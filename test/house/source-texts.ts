// The calls of a function in TypeScript sources, and the texts in their arguments. Knows texts in double quotes and
// templates, as prettier writes them; comments within a call are not looked for.

/** The arguments of each call, as they are written. `name` matches what stands before the parenthesis. */
export function callsOf(source: string, name: RegExp): string[][] {
  const calls = source.matchAll(new RegExp(`(?:${name.source})\\(`, "g"));
  return [...calls].map(({ 0: whole, index }) => argumentsAt(source, index + whole.length));
}

/** Those that begin here, up to the parenthesis that ends them. */
function argumentsAt(source: string, from: number): string[] {
  const found: string[] = [];
  let begin = from;
  for (let at = from; at < source.length; at = next(source, at)) {
    const isEnd = source[at] === ")";
    if (isEnd || source[at] === ",") {
      found.push(source.slice(begin, at).trim());
      begin = at + 1;
    }
    if (isEnd) break;
  }
  return found.filter((text) => text !== "");
}

/** The texts of an expression that are not within a template: a template's values are the word VALUE. */
export function textsOf(expression: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < expression.length; at = nextToken(expression, at))
    if (isQuote(expression[at]))
      found.push(withValues(expression.slice(at + 1, nextToken(expression, at) - 1)));
  return found;
}

function withValues(template: string): string {
  let text = "";
  for (let at = 0; at < template.length;) {
    const isValue = template.startsWith("${", at);
    const end = isValue ? next(template, at + 1) : at + 1;
    text += isValue ? "VALUE" : template.slice(at, end);
    at = end;
  }
  return text
    .replaceAll("\\`", "`")
    .replaceAll(/(?:VALUE)+/g, "VALUE")
    .trim();
}

/** A page has words in capitals for values: all of them are VALUE here, so that it compares with the texts of a source. */
export const shape = (text: string) => text.replaceAll(/\b[A-Z]{2,}\b|\bN\b/g, "VALUE");

const isQuote = (char = "") => char === '"' || char === "`";
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Behind what begins here: a text, something in brackets, or one character. */
function next(source: string, at: number): number {
  const closing = CLOSING[source[at] ?? ""];
  if (closing === undefined) return nextToken(source, at);
  let end = at + 1;
  while (end < source.length && source[end] !== closing) end = next(source, end);
  return end + 1;
}

/** Likewise, but into brackets. */
function nextToken(source: string, at: number): number {
  const quote = source[at];
  if (!isQuote(quote)) return at + 1;
  let end = at + 1;
  while (end < source.length && source[end] !== quote)
    if (source[end] === "\\") end += 2;
    else end = quote === "`" && source.startsWith("${", end) ? next(source, end + 1) : end + 1;
  return end + 1;
}
