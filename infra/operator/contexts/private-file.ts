// Files that hold secrets, or name what prints one: nobody else may read them.
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
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
  const beside = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(beside, text, { mode: 0o600, flag: "wx" });
    renameSync(beside, path);
    return success(null);
  } catch (error) {
    return failure(`${path} cannot be written (${codeOf(error)})`);
  }
}
