// What went wrong, in one line: of whatever was thrown. Never a stack, never a second line.

/** An error's first line; of several connection attempts the first's, since Node gives those no text of their own. */
export function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message === "" && error instanceof AggregateError) return faultOf(error.errors[0]);
  return error.message.split("\n")[0] || ((error as NodeJS.ErrnoException).code ?? error.name);
}

/** EACCES, ENOENT …, where the system refused; else the first line. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? faultOf(error);
}
