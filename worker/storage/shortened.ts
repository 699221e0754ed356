// Limits the length of a text that is stored.

/** The beginning of a text that is too long, with a mark that the rest is left out. */
export function shortened(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}
