// Describes whatever was thrown in one line, without a stack.

/** An error's first line. For several connection attempts that of the first, since Node's error for all has no text. */
export function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message === "" && error instanceof AggregateError) return faultOf(error.errors[0]);
  return error.message.split("\n")[0] || ((error as NodeJS.ErrnoException).code ?? error.name);
}

/** The system's code (EACCES, ENOENT …) where there is one; else the first line. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? faultOf(error);
}
