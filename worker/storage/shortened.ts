// Limits the length of stored texts.

/** Returns the text, cut to `maxLength` and ended with `…` if it is longer. */
export function shortened(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}
