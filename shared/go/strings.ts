// Implements Go's string functions that differ from JavaScript's, for texts that must equal those of Kubernetes.

const GO_SPACE = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/;

/** Trims like strings.TrimSpace: unlike String.trim, removes U+0085 and keeps the byte order mark. */
export function trimSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && GO_SPACE.test(text.charAt(start))) start++;
  while (end > start && GO_SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Returns the text in lower case like strings.ToLower, which maps each character to exactly one. */
export function toLower(text: string): string {
  let lower = "";
  for (const character of text) lower += character === "\u0130" ? "i" : character.toLowerCase();
  return lower;
}

/** Escapes the text like regexp.QuoteMeta, for an expression of Go or JavaScript. */
export function quoteMeta(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\u0007", String.raw`\a`],
  ["\b", String.raw`\b`],
  ["\f", String.raw`\f`],
  ["\n", String.raw`\n`],
  ["\r", String.raw`\r`],
  ["\t", String.raw`\t`],
  ["\v", String.raw`\v`],
]);

/** Returns true if unicode.IsPrint does. */
export function isPrintable(character: string): boolean {
  return PRINTABLE.test(character);
}

/** Quotes the text like strconv.Quote and %q in a format. */
export function quote(text: string): string {
  let quoted = "";
  for (const character of text.toWellFormed()) {
    quoted += ESCAPES.get(character) ?? (isPrintable(character) ? character : escaped(character));
  }
  return `"${quoted}"`;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code < 0x80) return String.raw`\x` + hex.padStart(2, "0");
  return code < 0x10000 ? String.raw`\u` + hex.padStart(4, "0") : String.raw`\U` + hex.padStart(8, "0");
}
