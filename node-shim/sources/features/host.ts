// Reads the files that features come from, each up to a limit. A missing file is none; other failures are noted.
import { closeSync, openSync, readdirSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { oneAtATime } from "../../base/one-at-a-time.ts";
import { FOR_READING, openTrusted } from "../../base/ownership.ts";
import { firstBytes } from "../../base/reading.ts";

/** The most bytes that are read of a file of /proc or /sys. */
const KERNEL_BYTES = 64 * 1024;
/** The most bytes of a file on a disk. A kernel's configuration has some 300 KB. */
const DISK_BYTES = 1024 * 1024;
/** The most entries of a folder that are read. */
const MOST_ENTRIES = 1024;
const GIVE_UP_MS = 2000;

/** The errors of files that a device does not have, or that the unit hides from the shim. */
const ABSENT = new Set(["EACCES", "ENOENT", "ENODEV", "ENOTDIR", "EINVAL", "EOPNOTSUPP", "ENXIO"]);

export interface Host {
  /** Returns the trimmed text of a file of /proc or /sys; undefined if the machine has no such file. */
  text: (path: string) => string | undefined;
  /** Lists a folder of /proc or /sys by name; none if there is no such folder. */
  list: (path: string) => string[];
  /** Reads a file on a disk; undefined if there is no such file. */
  disk: (path: string) => Promise<Buffer | undefined>;
  /** Reads a file on a disk that only root and the shim's user can have written; undefined for another one. */
  trusted: (path: string) => Promise<Buffer | undefined>;
  /** Lists a folder on a disk by name. */
  diskList: (path: string) => Promise<string[]>;
  /** Notes why a feature is not read whole. Returns undefined, for a feature that is not known. */
  note: (problem: string) => undefined;
  /** Returns the problems since the last call. */
  problems: () => string[];
}

/** Makes the readers. Must be called once for each root, since the readers remember a read that hangs. */
export function hostBelow(root: string, mostEntries: number = MOST_ENTRIES): Host {
  let problems = new Set<string>();
  const note = (problem: string) => {
    problems.add(problem);
    return undefined;
  };
  const noted = (error: unknown): undefined => {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (!ABSENT.has(code)) note(message);
  };
  const orNone = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      return noted(error);
    }
  };
  const bounded = (path: string, names: readonly string[] = []) => {
    if (names.length > mostEntries) note(`${path} has ${names.length} entries: only ${mostEntries} are read`);
    return names.toSorted().slice(0, mostEntries);
  };
  // A disk's file may hang, and the first one that does would hold up the others.
  const reader = (read: (path: string) => Promise<Buffer>) => {
    const ofDisk = oneAtATime(
      "the read of",
      (path) => read(join(root, path)).catch((error: unknown) => noted(error)),
      GIVE_UP_MS,
    );
    return async (path: string) => {
      const reading = await ofDisk(path);
      return reading.ok ? reading.value : note(reading.error.message);
    };
  };
  const listed = oneAtATime(
    "the list of",
    (path) => readdir(join(root, path)).catch((error: unknown) => noted(error)),
    GIVE_UP_MS,
  );
  return {
    text: (path) => orNone(() => readStart(join(root, path)).trim()),
    list: (path) =>
      bounded(
        path,
        orNone(() => readdirSync(join(root, path))),
      ),
    disk: reader(readWhole),
    trusted: reader(readTrusted),
    diskList: async (path) => {
      const reading = await listed(path);
      return reading.ok ? bounded(path, reading.value) : (note(reading.error.message), []);
    },
    note,
    problems: () => {
      const all = [...problems];
      problems = new Set();
      return all;
    },
  };
}

/** Reads the first KERNEL_BYTES of a file of /proc or /sys. The kernel answers from memory. */
function readStart(path: string): string {
  const file = openSync(path, FOR_READING);
  try {
    return firstBytes(file, KERNEL_BYTES).toString();
  } finally {
    closeSync(file);
  }
}

/** Reads a file that no other user can have written or linked to another one, such as one with secrets. */
async function readTrusted(path: string): Promise<Buffer> {
  const opened = openTrusted(path, "file");
  if (!opened.ok) throw new Error(opened.error);
  try {
    return await readWhole(path, opened.value.self);
  } finally {
    opened.value.close();
  }
}

async function readWhole(path: string, opened: string = path): Promise<Buffer> {
  const file = await open(opened, FOR_READING);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error(`${path} is no file`);
    if (stat.size > DISK_BYTES)
      throw new Error(`${path} has ${stat.size} bytes: at most ${DISK_BYTES} are read`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
