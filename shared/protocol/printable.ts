// Replaces control characters in foreign texts, which could overwrite other texts or turn the reading direction.
import { LIMITS } from "./limits.ts";

/** Matches C0, DEL and C1; line and paragraph separators; and characters that change the writing direction. */
const CONTROL = "[\\p{Cc}\\u2028\\u2029\\p{Bidi_Control}]";
const CONTROLS = new RegExp(CONTROL, "u");
const EACH_CONTROL = new RegExp(CONTROL, "gu");
const WHITE_SPACE = /[\t-\r\u2028\u2029]/;

export function isPrintable(text: string): boolean {
  return !CONTROLS.test(text);
}

/** Replaces line breaks and tabs by a space, and other control characters by U+FFFD. The text never becomes longer. */
export function printable(text: string): string {
  if (isPrintable(text)) return text;
  return text.replaceAll(EACH_CONTROL, (control) => (WHITE_SPACE.test(control) ? " " : "\u{FFFD}"));
}

/** Returns a foreign text as it may appear in a log or on a terminal: printable, and at most `most` characters long. */
export function shownText(text: string, most: number = LIMITS.textLength): string {
  return printable(text.slice(0, most).toWellFormed());
}

const escaped = (control: string) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Returns a foreign line in which each control character but a tab is escaped, and so visible. */
export function visible(line: string): string {
  return line.replaceAll(EACH_CONTROL, (control) => (control === "\t" ? control : escaped(control)));
}

/** Returns a foreign text whose lines are `visible`. Line breaks stay. */
export const visibleText = (text: string): string => text.split("\n").map(visible).join("\n");

/** Applies `printable` to all texts and keys of a JSON value. */
export function printableTexts<T>(value: T): T;
export function printableTexts(value: unknown): unknown {
  if (typeof value === "string") return printable(value);
  if (Array.isArray(value)) return value.map((each: unknown) => printableTexts(each));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [printable(key), printableTexts(each as unknown)]),
  );
}

/** Returns the value as JSON in which control characters are escaped, so that a terminal obeys none. */
export function printableJson(value: unknown, indent?: number): string {
  // Between the texts, JSON.stringify writes no control characters but line breaks.
  return JSON.stringify(value, null, indent).replaceAll(EACH_CONTROL, (control) =>
    control === "\n" ? control : escaped(control),
  );
}
