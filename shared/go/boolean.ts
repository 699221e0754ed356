// Parses booleans as Go does.

/** Parses a boolean like Go's strconv.ParseBool; null if that fails. */
export function parseBoolean(text: string): boolean | null {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  return ["0", "f", "F", "FALSE", "false", "False"].includes(text) ? false : null;
}
