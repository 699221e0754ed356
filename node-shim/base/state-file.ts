// Reads and writes the files of the state folder. Files have mode 0600 and survive power cuts. Refuses files that
// another user can have put there.
import { failure, type Result, success } from "../../shared/result.ts";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "./fault.ts";
import { folderFault, ownershipFault } from "./ownership.ts";

/** Open flags for a read: follows no symbolic link, and does not wait for a writer if the file is a pipe. */
const FOR_READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Open flags for a write: fails if the file exists already, also as a symbolic link. */
const FOR_WRITING = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Throws, with the remedy, if users other than root and the current user can change the folder. */
export function requireTrusted(stateFolder: string): void {
  const fault = folderFault(stateFolder, ownUid(), programUid());
  if (fault !== null) throw new Error(refusal(stateFolder, fault));
}

/**
 * Writes a new file, renames it to `path`, and fsyncs the file and the folder: a power cut leaves the old or the
 * new file.
 */
export function writeDurably(path: string, text: string): void {
  requireTrusted(dirname(path));
  const beside = `${path}.new`;
  try {
    writeNew(beside, text);
    renameSync(beside, path);
    const folder = openSync(dirname(path), "r");
    fsyncSync(folder);
    closeSync(folder);
  } catch (error) {
    throw new Error(
      `${path} cannot be written (${codeOf(error)}): make room and let this user write there, or pass another --state`,
      { cause: error },
    );
  }
}

/** Writes a new file with mode 0600 and fsyncs it. Replaces a file that a crash has left at `path`. */
export function writeNew(path: string, text: string): void {
  remove(path);
  const file = openSync(path, FOR_WRITING, 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** Reads a file; null if it does not exist. Throws, with the remedy, if it is unreadable or not trusted. */
export function readIfThere(path: string): string | null {
  requireTrusted(dirname(path));
  let read: Result<string>;
  try {
    read = readTrusted(path);
  } catch (error) {
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

/**
 * Reads a file if its owner and mode are trusted. Checks the opened file, since another file may have the path by
 * now.
 */
function readTrusted(path: string): Result<string> {
  const file = openSync(path, FOR_READING);
  try {
    const stats = fstatSync(file);
    const fault = stats.isFile() ? ownershipFault(stats, ownUid()) : NO_FILE;
    return fault === null ? success(readFileSync(file, "utf8")) : failure(fault);
  } finally {
    closeSync(file);
  }
}

function ownUid(): number {
  return process.geteuid?.() ?? 0;
}

/**
 * Returns the user ID of the owner of the running program: root for a package, or the user who made the checkout.
 */
function programUid(): number {
  const [, program] = process.argv;
  try {
    return program === undefined ? 0 : statSync(program).uid;
  } catch {
    return 0;
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
