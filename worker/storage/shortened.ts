// Limits the length of stored texts.

/** Returns the text. A text longer than `maxLength` is cut to `maxLength` and ends with `…`. */
export function shortened(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}
