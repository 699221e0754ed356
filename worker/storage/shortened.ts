// Limits the length of a text that is stored.

/** Cuts a text that is too long, and ends it with `…`. */
export function shortened(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}
