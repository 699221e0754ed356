// Reads the small files that facts come from, under a root folder, and warns about those that cannot be read.
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Failure, failure, type Result, type Success, success } from "../../shared/result.ts";
import type { WarningSource } from "./log.ts";

/** A fact, or why there is none. `source` names the file if it may be one of several. */
export type Reading<T> = (Success<T> & { source?: string }) | Failure<Unread>;

interface Unread {
  /** missing: nothing was there to read. late: no answer came in time. */
  reason: "missing" | "late" | "failed";
  message: string;
}

export function unreadable(message: string, reason: Unread["reason"] = "failed"): Failure<Unread> {
  return failure({ reason, message });
}

/** Returns the reading for a thrown error. */
export function unread(error: unknown): Failure<Unread> {
  if (!(error instanceof Error)) return unreadable(String(error));
  return unreadable(error.message, "code" in error && error.code === "ENOENT" ? "missing" : "failed");
}

/** Reads a file of /proc or /sys. The kernel answers from memory, so a synchronous read is cheapest. */
export function readKernelFile(root: string, path: string): Reading<string> {
  try {
    return success(readFileSync(join(root, path), "utf8"));
  } catch (error) {
    return unread(error);
  }
}

/** Lists a folder of /proc or /sys, in the order of Go's os.ReadDir. */
export function listKernelFolder(root: string, path: string): Reading<string[]> {
  try {
    return success(readdirSync(join(root, path)).sort());
  } catch (error) {
    return unread(error);
  }
}

/** Reads a file on a disk, which may be slow. */
export async function readDiskFile(root: string, path: string): Promise<Reading<string>> {
  try {
    return success(await readFile(join(root, path), "utf8"));
  } catch (error) {
    return unread(error);
  }
}

/** Called with the source of a missing fact or signal, and the reason. */
export type Warn = (source: WarningSource, message: string) => void;

/** Passes on the first warning of each source. */
export function warnOncePerSource(warn: Warn): Warn {
  const warned = new Set<string>();
  return (source, message) => {
    if (warned.has(source)) return;
    warned.add(source);
    warn(source, message);
  };
}

/** Passes on a message only for the first source that has it: a missing file results in one line. */
export function withoutEcho(warn: Warn): Warn {
  const firstOf = new Map<string, string>();
  return (source, message) => {
    if (!firstOf.has(message)) firstOf.set(message, source);
    if (firstOf.get(message) === source) warn(source, message);
  };
}

/** Returns the fact, or undefined after a warning. */
export function orWarn<T>(
  reading: Result<T, string | Unread>,
  source: WarningSource,
  warn: Warn,
): T | undefined {
  if (reading.ok) return reading.value;
  warn(source, typeof reading.error === "string" ? reading.error : reading.error.message);
  return undefined;
}
