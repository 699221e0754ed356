// Reads the small files that facts come from, under a root folder. Does not interpret them.
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Failure, failure, type Success, success } from "../../shared/result.ts";

/** A fact, or why there is none. `source` where it may be one of several. */
export type Reading<T> = (Success<T> & { source?: string }) | Failure<Unread>;

export interface Unread {
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
