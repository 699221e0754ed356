// Reads files whose server may hang in a thread: those of /proc and /sys that are not the kernel's, and files on disks.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { oneAtATime } from "../../base/one-at-a-time.ts";
import type { Reading } from "../../base/reading.ts";
import { servedPaths } from "../../base/served-paths.ts";

/** The longest wait for such a file. A program that hangs causes this delay once; later checks fail at once. */
const GIVE_UP_MS = 2000;
/** The files that the shim reads and that lxcfs, or a mount, often replaces. */
const FILES = [
  "/proc/meminfo",
  "/proc/loadavg",
  "/proc/vmstat",
  "/proc/sys/kernel/pid_max",
  "/proc/sys/kernel/threads-max",
  "/proc/sys/kernel/random/boot_id",
  "/sys/devices/system/cpu/online",
];

/** Returns the failed reading of a file whose server hangs; null if each file is read, or is the kernel's own. */
export type ServedFilesCheck = () => Promise<Extract<Reading<never>, { ok: false }> | null>;

/** Makes the check. Must be called once in a process, since the check remembers a read that hangs. */
export function servedFilesCheck(root: string, giveUpMs: number = GIVE_UP_MS): ServedFilesCheck {
  const files = servedPaths(root, FILES);
  const read = oneAtATime("the read of", (path) => readFile(join(root, path)), giveUpMs);
  return async () => {
    for (const file of files) {
      const reading = await read(file);
      if (!reading.ok && reading.error.reason === "late") return reading;
    }
    return null;
  };
}

/** Reads a text file of a disk. */
export type DiskReader = (path: string) => Promise<Reading<string>>;

/** Makes the reader. Must be called once in a process, since the reader remembers a read that hangs. */
export function diskReader(root: string, giveUpMs: number = GIVE_UP_MS): DiskReader {
  return oneAtATime("the read of", (path) => readFile(join(root, path), "utf8"), giveUpMs);
}
