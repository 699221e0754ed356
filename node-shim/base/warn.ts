// How gathering says that a source failed. Where the words end up is the caller's choice.
import type { Result } from "../../shared/result.ts";
import type { Unread } from "./reading.ts";

/** Told when a fact or signal is left out: where it would have come from, and why it did not. */
export type Warn = (source: string, message: string) => void;

/** Passes on the first warning of each source. `said` is the caller's, who may forget a source to hear of it again. */
export function sayOnce(warn: Warn, said: Set<string> = new Set()): Warn {
  return (source, message) => {
    if (said.has(source)) return;
    said.add(source);
    warn(source, message);
  };
}

/** Passes on what several sources have in common for the first one only: a file that is missing is one line. */
export function withoutEcho(warn: Warn): Warn {
  const firstOf = new Map<string, string>();
  return (source, message) => {
    if (!firstOf.has(message)) firstOf.set(message, source);
    if (firstOf.get(message) === source) warn(source, message);
  };
}

/** The fact, or undefined after a warning. */
export function orWarn<T>(reading: Result<T, string | Unread>, source: string, warn: Warn): T | undefined {
  if (reading.ok) return reading.value;
  warn(source, typeof reading.error === "string" ? reading.error : reading.error.message);
  return undefined;
}
