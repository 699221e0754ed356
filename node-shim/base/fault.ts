// Describes a thrown value in one line, without a stack.
import { shownText } from "../../shared/protocol/printable.ts";

/** The most characters of a fault. An error may quote what a server or a program sent. */
const MAX_LENGTH = 4096;

/** Returns an error's first line, printable. For several failed attempts, returns the line of the first error. */
export function faultOf(error: unknown): string {
  return shownText(firstLine(error), MAX_LENGTH);
}

function firstLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message === "" && error instanceof AggregateError) return firstLine(error.errors[0]);
  return error.message.split("\n")[0] || ((error as NodeJS.ErrnoException).code ?? error.name);
}

/** Returns the error's system code (EACCES, ENOENT …) if it has one, else its first line. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? faultOf(error);
}
