// Reads the small files that facts come from, under a root folder. What they mean is not decided here.
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * A fact, or why there is none; `missing` when nothing was there to read, `late` when no answer came in time. `source` where it
 * may be one of several.
 */
export type Reading<T> = { value: T; source?: string } | Unread;
interface Unread {
  error: string;
  missing?: true;
  late?: true;
}

/** What a failed call says, as a reading. */
export function unread(error: unknown): Unread {
  if (!(error instanceof Error)) return { error: String(error) };
  return "code" in error && error.code === "ENOENT"
    ? { error: error.message, missing: true }
    : { error: error.message };
}

/** A file of /proc or /sys. These are answered from the kernel's memory, so that waiting for them is cheapest. */
export function readKernelFile(root: string, path: string): Reading<string> {
  try {
    return { value: readFileSync(join(root, path), "utf8") };
  } catch (error) {
    return unread(error);
  }
}

/** The names in a folder of /proc or /sys, in the order of Go's os.ReadDir. */
export function listKernelFolder(root: string, path: string): Reading<string[]> {
  try {
    return { value: readdirSync(join(root, path)).sort() };
  } catch (error) {
    return unread(error);
  }
}

/** A file on a disk, which may take its time. */
export async function readDiskFile(root: string, path: string): Promise<Reading<string>> {
  try {
    return { value: await readFile(join(root, path), "utf8") };
  } catch (error) {
    return unread(error);
  }
}
