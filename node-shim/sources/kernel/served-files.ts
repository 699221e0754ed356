// Reads the files of /proc and /sys that a program serves (lxcfs) in a thread, before the process itself reads them.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { oneAtATime } from "../../base/one-at-a-time.ts";
import type { Reading } from "../../base/reading.ts";
import { servedPaths } from "../../base/served-paths.ts";

/** The longest wait for such a file. A program that hangs causes this delay once; later checks fail at once. */
const GIVE_UP_MS = 2000;
/** The files that the shim reads and that lxcfs may serve. */
const FILES = ["/proc/meminfo", "/proc/loadavg", "/sys/devices/system/cpu/online"];

/** Returns the failed reading of a file whose program hangs; null if each program answers, or if there is none. */
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
