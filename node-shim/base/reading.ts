// Reads the small files that facts come from, under a root folder. Does not interpret them.
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Failure, failure, type Result, type Success, success } from "../../shared/result.ts";
import type { WarningSource } from "./log.ts";

/** A fact, or why there is none. `source` where it may be one of several. */
export type Reading<T> = (Success<T> & { source?: string }) | Failure<Unread>;

interface Unread {
  /** missing: nothing was there to read. late: no answer came in time. */
  reason: "missing" | "late" | "failed";
  message: string;
}

export function unreadable(message: string, reason: Unread["reason"] = "failed"): Failure<Unread> {
  return failure({ reason, message });
}

/** The reading for an error that a call has thrown. */
export function unread(error: unknown): Failure<Unread> {
  if (!(error instanceof Error)) return unreadable(String(error));
  return unreadable(error.message, "code" in error && error.code === "ENOENT" ? "missing" : "failed");
}

/** A file of /proc or /sys. The kernel answers from memory, so that a synchronous read is cheapest. */
export function readKernelFile(root: string, path: string): Reading<string> {
  try {
    return success(readFileSync(join(root, path), "utf8"));
  } catch (error) {
    return unread(error);
  }
}

/** The names in a folder of /proc or /sys, in the order of Go's os.ReadDir. */
export function listKernelFolder(root: string, path: string): Reading<string[]> {
  try {
    return success(readdirSync(join(root, path)).sort());
  } catch (error) {
    return unread(error);
  }
}

/** A file on a disk, which may be slow. */
export async function readDiskFile(root: string, path: string): Promise<Reading<string>> {
  try {
    return success(await readFile(join(root, path), "utf8"));
  } catch (error) {
    return unread(error);
  }
}

// How gathering reports that a source failed. The caller decides where warnings go.

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
