// Files that hold secrets, or name what prints one: nobody else may read them.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../../../node-shim/base/fault.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

const OTHERS = 0o077;

/** Its text; null: there is none. The error says what to do. */
export function readPrivate(path: string, what: string): Result<string | null> {
  try {
    const found = statSync(path);
    // A pipe, as of <(pass show rollcall), is of this process alone.
    if (found.isFile() && (found.mode & OTHERS) !== 0)
      return failure(`${what} ${path} can be read by others: chmod 600 ${path}`);
    return success(readFileSync(path, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return success(null);
    return failure(`${what} ${path} cannot be read (${codeOf(error)})`);
  }
}

/** As a whole or not at all: who reads meanwhile sees the one before. */
export function writePrivate(path: string, text: string): Result<null> {
  return written(path, text, (beside) => {
    renameSync(beside, path);
    return null;
  });
}

/** The same where there is none yet; false: there is one, and it stays as it is. */
export function writeNewPrivate(path: string, text: string): Result<boolean> {
  return written(path, text, (beside) => isLinked(beside, path));
}

/** Unlike a rename, a link replaces nothing. */
function isLinked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function written<T>(path: string, text: string, place: (beside: string) => T): Result<T> {
  const beside = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(beside, text, { mode: 0o600, flag: "wx" });
    try {
      return success(place(beside));
    } finally {
      rmSync(beside, { force: true });
    }
  } catch (error) {
    return failure(`${path} cannot be written (${codeOf(error)})`);
  }
}
