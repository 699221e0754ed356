// Describes a thrown value in one line, without a stack.

/** Returns an error's first line; for several failed connection attempts, the first line of the first error. */
export function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message === "" && error instanceof AggregateError) return faultOf(error.errors[0]);
  return error.message.split("\n")[0] || ((error as NodeJS.ErrnoException).code ?? error.name);
}

/** Returns the error's system code (EACCES, ENOENT …) if it has one, else its first line. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? faultOf(error);
}
