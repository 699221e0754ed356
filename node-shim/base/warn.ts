// How gathering reports that a source failed. The caller decides where warnings go.
import type { Result } from "../../shared/result.ts";
import type { WarningSource } from "./log-table.ts";
import type { Unread } from "./reading.ts";

/** Called when a fact or signal is left out: with the source that it would have come from, and the reason. */
export type Warn = (source: WarningSource, message: string) => void;

/** Passes on the first warning of each source. A caller that removes a source from `said` gets its next one as well. */
export function sayOnce(warn: Warn, said: Set<string> = new Set()): Warn {
  return (source, message) => {
    if (said.has(source)) return;
    said.add(source);
    warn(source, message);
  };
}

/** Passes on a message that several sources share for the first one only: a missing file results in one line. */
export function withoutEcho(warn: Warn): Warn {
  const firstOf = new Map<string, string>();
  return (source, message) => {
    if (!firstOf.has(message)) firstOf.set(message, source);
    if (firstOf.get(message) === source) warn(source, message);
  };
}

/** The fact, or undefined after a warning. */
export function orWarn<T>(
  reading: Result<T, string | Unread>,
  source: WarningSource,
  warn: Warn,
): T | undefined {
  if (reading.ok) return reading.value;
  warn(source, typeof reading.error === "string" ? reading.error : reading.error.message);
  return undefined;
}
