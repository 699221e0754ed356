// Truth in Go's notation.

/** Go's strconv.ParseBool; null where it fails. */
export function parseBoolean(text: string): boolean | null {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  return ["0", "f", "F", "FALSE", "false", "False"].includes(text) ? false : null;
}
