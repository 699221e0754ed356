// Texts of machines reach kubectl and operators' terminals: a control character would move the cursor over what stands there,
// and a bidirectional one would make a text read otherwise than it is.

/** C0, DEL and C1; line and paragraph separators; marks, embeddings, overrides and isolates of writing direction. */
const CONTROL = "[\\p{Cc}\\u2028\\u2029\\p{Bidi_Control}]";
const CONTROLS = new RegExp(CONTROL, "u");
const EACH_CONTROL = new RegExp(CONTROL, "gu");
const WHITE_SPACE = /[\t-\r\u2028\u2029]/;

export function isPrintable(text: string): boolean {
  return !CONTROLS.test(text);
}

/** The text with a space for each line break and tab, and U+FFFD for any other control character: no longer than before. */
export function printable(text: string): string {
  if (isPrintable(text)) return text;
  return text.replaceAll(EACH_CONTROL, (control) => (WHITE_SPACE.test(control) ? " " : "\u{FFFD}"));
}

/** The same for every text within a value of JSON but the keys, which have schemas of their own. */
export function printableTexts<T>(value: T): T;
export function printableTexts(value: unknown): unknown {
  if (typeof value === "string") return printable(value);
  if (Array.isArray(value)) return value.map((each: unknown) => printableTexts(each));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, printableTexts(each as unknown)]),
  );
}
