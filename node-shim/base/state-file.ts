// Reads and writes the files of the state folder: with mode 0600, and so that a power cut loses none.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "./fault.ts";

/** Writes a new file, fsyncs and renames it, and fsyncs the folder: a power cut leaves the old or the new file. */
export function writeDurably(path: string, text: string): void {
  const beside = `${path}.new`;
  try {
    writeSynced(beside, text);
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

function writeSynced(path: string, text: string): void {
  const file = openSync(path, "w", 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** null: there is no such file. Throws with what to do where it cannot be read. */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw new Error(
      `${path} cannot be read (${codeOf(error)}): run as the user that made it, or pass another --state`,
      { cause: error },
    );
  }
}

/** undefined: the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
