// Reads and durably writes the state folder's files (mode 0600). Refuses files that another user can have put there.
import { failure, type Result, success } from "../../shared/result.ts";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { open, rename, rm, statfs, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { after } from "./clock.ts";
import { codeOf, faultOf } from "./fault.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { folderFault, type Opened, openTrusted, ownershipFault } from "./ownership.ts";

/** Open flags for a read: follows no symbolic link, and does not wait for a writer if the file is a pipe. */
const FOR_READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Open flags for a write: fails if the file exists already, also as a symbolic link. */
const FOR_WRITING = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Open flags for a replacement: also writes a file that a crash has left. */
const FOR_REPLACING = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/** Throws, with the remedy, if users other than root and the current user can change the folder. */
export function requireTrusted(stateFolder: string): void {
  const fault = folderFault(stateFolder);
  if (fault !== null) throw new Error(refusal(stateFolder, fault));
}

/**
 * Opens the state folder, with `makeMode` also a missing one. Throws, with the remedy, if the folder is not trusted,
 * and the system's error if the folder cannot be opened.
 */
export function openState(stateFolder: string, makeMode?: number): Opened {
  const opened = openTrusted(stateFolder, "folder", makeMode === undefined ? {} : { makeMode });
  if (!opened.ok) throw new Error(refusal(stateFolder, opened.error));
  return opened.value;
}

/** Milliseconds after which a state folder without an answer is reported. */
const LATE_MS = 3000;

/**
 * Resolves once the state folder's file system has answered. Calls `late` if the answer is late: the reads that follow
 * block the whole process while a network file system hangs. `ask` is typically openKey.
 */
export async function whenAnswering(
  folder: string,
  late: (message: string) => void,
  ask: (folder: string) => Promise<unknown> = openKey,
): Promise<void> {
  const message = `${folder} has not answered for ${LATE_MS / 1000} s: node-shim waits for the machine's key there`;
  const cancel = after(LATE_MS, () => late(message));
  await ask(folder).catch(() => undefined);
  cancel();
}

/** Opens and closes the key's file, for which a network file system asks its server. */
async function openKey(folder: string): Promise<void> {
  const file = await open(join(folder, "key.json"), FOR_READING);
  await file.close();
}

/** Writes a new file, renames it to `path`, and fsyncs file and folder: a power cut leaves the old or the new file. */
export function writeDurably(path: string, text: string): void {
  const name = basename(path);
  try {
    inFolder(dirname(path), ({ at }) => {
      writeNew(at(`${name}.new`), text);
      renameSync(at(`${name}.new`), at(name));
      const folder = openSync(at("."), "r");
      fsyncSync(folder);
      closeSync(folder);
    });
  } catch (error) {
    if (!hasCode(error)) throw error;
    throw new Error(
      `${path} cannot be written (${codeOf(error)}): make room and let this user write there, or pass another --state`,
      { cause: error },
    );
  }
}

/** The codes of a file system without room for a write, or one that refuses or does not complete writes. */
const UNWRITABLE: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO", "ETIMEDOUT", "ESTALE"]);

/** The code of a write that does not end. */
export const WRITE_HANGS = "ETIMEDOUT";

/** Returns the code of an error of a file system that cannot be written; null for any other error. */
export function unwritableCode(error: unknown): string | null {
  const { cause } = error as Error;
  const code = hasCode(error) ? codeOf(error) : cause === undefined ? "" : codeOf(cause);
  return UNWRITABLE.has(code) ? code : null;
}

/** Opens a file without a name (O_TMPFILE), for which Node.js has no name. */
const UNNAMED = 0o20000000 | constants.O_DIRECTORY | constants.O_WRONLY;
const PROBE = Buffer.alloc(4096);

/**
 * Returns a function that writes a file without a name, which no one sees, into the folder. It resolves to the code if
 * the file system cannot be written; to WRITE_HANGS if a write has not ended for LATE_MS; to null if the file system can
 * be written, or if this user may not write there. A write that never ends keeps one of libuv's threads, and not the
 * whole process, as the synchronous functions of this file would.
 */
export function writeProbe(folder: string, giveUpMs: number = LATE_MS): () => Promise<string | null> {
  const probe = oneAtATime("a write to", faultOfWrite, giveUpMs);
  return async () => {
    const written = await probe(folder);
    if (written.ok) return written.value;
    return written.error.reason === "late" ? WRITE_HANGS : null;
  };
}

async function faultOfWrite(folder: string): Promise<string | null> {
  try {
    const file = await open(folder, UNNAMED, 0o600);
    try {
      await file.write(PROBE);
      await file.sync();
    } finally {
      await file.close();
    }
    return null;
  } catch (error) {
    if (unwritableCode(error) !== null) return unwritableCode(error);
    // This file system has no files without a name.
    return ["EOPNOTSUPP", "EISDIR", "EINVAL"].includes(codeOf(error)) ? spaceFault(folder) : null;
  }
}

async function spaceFault(folder: string): Promise<string | null> {
  const { bfree, files, ffree } = await statfs(folder);
  return bfree === 0 || (files > 0 && ffree === 0) ? "ENOSPC" : null;
}

/** Resolves once the folder's file system has answered a removal: never while its writes hang. */
export const whenRemoving = (folder: string): Promise<void> =>
  unlink(join(folder, "none")).catch(() => undefined);

/** Removes files of the state folder by their names, in this order. A missing file or folder is no error. */
export function removeFiles(stateFolder: string, names: readonly string[]): void {
  ignoringAbsence(() => inFolder(stateFolder, ({ at }) => names.forEach((name) => removeFile(at(name)))));
}

/** Returns whether the system, not the shim, refused an operation on a file. */
export const hasCode = (error: unknown): boolean => (error as NodeJS.ErrnoException).code !== undefined;

function inFolder<T>(folder: string, use: (opened: Opened) => T): T {
  const opened = openState(folder);
  try {
    return use(opened);
  } finally {
    opened.close();
  }
}

/** How a running shim replaces a file. */
export interface Replacement {
  mode: number;
  /** The longest wait for one write, in milliseconds. A write that hangs longer keeps one of libuv's threads. */
  giveUpMs: number;
  /** The mode of a missing folder, which the first write makes. Absent: the folder must exist. */
  makeMode?: number;
  /** true: a power cut leaves the old or the new file. */
  durably?: boolean;
}

/**
 * Returns functions that replace and remove one file in libuv's threads, so that a file system that hangs delays no
 * report. `write` returns the fault; null if the file is written.
 */
export function replacedFile(path: string, replacement: Replacement, write: typeof replace = replace) {
  const { giveUpMs, makeMode } = replacement;
  // Opens the folder only once, since opening blocks.
  let folder = makeMode === undefined ? openedFolder(path) : null;
  const replaceIn = oneAtATime(
    "write of",
    async (text: string) => (typeof folder === "string" ? folder : write(folder, path, text, replacement)),
    giveUpMs,
  );
  return {
    async write(text: string): Promise<string | null> {
      folder ??= openedFolder(path, makeMode);
      const written = await replaceIn(text);
      return written.ok ? written.value : `${path} cannot be written within ${giveUpMs / 1000} s`;
    },
    remove: () => unlink(path).catch(() => undefined),
  };
}

/** Replaces the file, so that readers get the old or the new text. Returns the fault; null if the file is written. */
async function replace(
  folder: Opened | null,
  path: string,
  text: string,
  { mode, durably = false }: Replacement,
): Promise<string | null> {
  if (folder === null) return `${path} cannot be written (ENOENT)`;
  const beside = folder.at(`${basename(path)}.new`);
  try {
    // Another user may have planted or opened the file before the folder's mode was corrected.
    if (durably) await rm(beside, { force: true });
    const file = await open(beside, FOR_REPLACING, mode);
    try {
      await file.chmod(mode);
      await file.writeFile(text);
      if (durably) await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, folder.at(basename(path)));
    if (durably) await syncFolder(folder);
    return null;
  } catch (error) {
    return `${path} cannot be written (${codeOf(error)})`;
  }
}

async function syncFolder({ at }: Opened): Promise<void> {
  const folder = await open(at("."), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Opens the folder of the file, or returns the reason why it is not trusted; null if it cannot be opened yet. */
function openedFolder(path: string, makeMode?: number): Opened | string | null {
  try {
    return openState(dirname(path), makeMode);
  } catch (error) {
    return hasCode(error) ? null : faultOf(error);
  }
}

/** Writes a new file with mode 0600 and fsyncs it. Replaces a file that a crash has left at `path`. */
export function writeNew(path: string, text: string): void {
  removeFile(path);
  const file = openSync(path, FOR_WRITING, 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } catch (error) {
    // On a full disk, each attempt would leave an empty file.
    removeFile(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

const removeFile = (path: string) => ignoringAbsence(() => unlinkSync(path));

function ignoringAbsence(remove: () => void): void {
  try {
    remove();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** Reads a file; null if it does not exist. Throws, with the remedy, if it is unreadable or not trusted. */
export function readIfThere(path: string): string | null {
  let read: Result<string>;
  try {
    read = inFolder(dirname(path), ({ at }) => readTrusted(at(basename(path))));
  } catch (error) {
    if (!hasCode(error)) throw error;
    const code = codeOf(error);
    if (code === "ENOENT") return null;
    if (code !== "ELOOP")
      throw new Error(
        `${path} cannot be read (${code}): run as the user that made it (sudo), or pass another --state`,
        { cause: error },
      );
    read = failure(NO_FILE);
  }
  if (!read.ok) throw new Error(refusal(dirname(path), `${path} ${read.error}`));
  return read.value;
}

const NO_FILE = "is not a file (links are not followed): remove it";

/** Reads a file of trusted owner and mode. Checks the opened file, since another file may have the path by now. */
function readTrusted(path: string): Result<string> {
  const file = openSync(path, FOR_READING);
  try {
    const stats = fstatSync(file);
    const fault = stats.isFile() ? ownershipFault(stats) : NO_FILE;
    return fault === null ? success(readFileSync(file, "utf8")) : failure(fault);
  } finally {
    closeSync(file);
  }
}

function refusal(stateFolder: string, fault: string): string {
  return `--state ${stateFolder} is not trusted: ${fault}, or pass another --state`;
}

/** Parses JSON; undefined if `text` is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
