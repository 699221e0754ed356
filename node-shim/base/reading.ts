// Reads the small files that facts come from, below a root folder. Warns about unreadable files.
import { readdirSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { type Failure, failure, type Result, type Success, success } from "../../shared/result.ts";
import type { WarningSource } from "./log.ts";

/** A fact, or the reason why it could not be read. `source` names the file if the fact may come from one of several. */
export type Reading<T> = (Success<T> & { source?: string }) | Failure<Unread>;

interface Unread {
  /** The reason of the failed read. missing: the file does not exist. late: the read did not end in time. */
  reason: "missing" | "late" | "failed";
  message: string;
}

export function unreadable(message: string, reason: Unread["reason"] = "failed"): Failure<Unread> {
  return failure({ reason, message });
}

/** Returns the failed reading for an error that a read threw. */
export function unread(error: unknown): Failure<Unread> {
  if (!(error instanceof Error)) return unreadable(String(error));
  return unreadable(error.message, "code" in error && error.code === "ENOENT" ? "missing" : "failed");
}

/** Reads a file of /proc or /sys. The kernel answers from memory, so a synchronous read is the cheapest. */
export function readKernelFile(root: string, path: string): Reading<string> {
  try {
    return success(readFileSync(join(root, path), "utf8"));
  } catch (error) {
    return unread(error);
  }
}

/** Reads the first bytes of an opened file, device or pipe, whose size may be unknown. */
export function firstBytes(descriptor: number, mostBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(mostBytes);
  let length = 0;
  let read: number;
  do {
    // Once the buffer is full, this is a read of no bytes.
    read = readSync(descriptor, bytes, length, mostBytes - length, null);
    length += read;
  } while (read !== 0);
  return bytes.subarray(0, length);
}

/** Lists a folder of /proc or /sys, in the order of Go's os.ReadDir (by name). */
export function listKernelFolder(root: string, path: string): Reading<string[]> {
  try {
    return success(readdirSync(join(root, path)).sort());
  } catch (error) {
    return unread(error);
  }
}

/** Reports a missing fact or signal: its source, and the reason. */
export type Warn = (source: WarningSource, message: string) => void;

/** Returns a function that passes only the first warning of each source to `warn`. */
export function warnOncePerSource(warn: Warn): Warn {
  const warned = new Set<string>();
  return (source, message) => {
    if (warned.has(source)) return;
    warned.add(source);
    warn(source, message);
  };
}

/** Returns a function that passes each message to `warn` for one source only, even if several sources have it. */
export function withoutEcho(warn: Warn): Warn {
  const firstOf = new Map<string, string>();
  return (source, message) => {
    if (!firstOf.has(message)) firstOf.set(message, source);
    if (firstOf.get(message) === source) warn(source, message);
  };
}

/** Returns the reading's fact. If the reading failed, warns and returns undefined. */
export function orWarn<T>(
  reading: Result<T, string | Unread>,
  source: WarningSource,
  warn: Warn,
): T | undefined {
  if (reading.ok) return reading.value;
  warn(source, typeof reading.error === "string" ? reading.error : reading.error.message);
  return undefined;
}
