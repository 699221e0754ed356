// Hands a version from the unit that asks the Worker to the unit that installs it. The file has one line: the Debian
// version. Both units check the version.
import { closeSync, constants, fstatSync, openSync, readSync, renameSync, unlinkSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { packageVersion, releaseOf } from "../../shared/package-version.ts";
import { ROLLOUT_LIMITS } from "../../shared/protocol/limits.ts";
import { codeOf } from "../base/fault.ts";
import { type Opened, openTrusted, ownershipFault } from "../base/ownership.ts";
import { writeNew } from "../base/state-file.ts";

const FOR_READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const MAX_BYTES = ROLLOUT_LIMITS.versionLength + "\n".length;

/** Writes the version. With null, removes the file of an earlier answer. Throws, with the remedy, if that fails. */
export function putVersion(path: string, version: string | null): void {
  const text = version === null ? null : packageVersion(version);
  if (text !== null && releaseOf(text) === null)
    throw new Error(`not upgraded: ${JSON.stringify(version)} is not a version of a package`);
  inFolder(path, ({ at }, name) => {
    if (text === null) return remove(at(name));
    writeNew(at(`${name}.new`), `${text}\n`);
    renameSync(at(`${name}.new`), at(name));
  });
}

/** Reads the version and removes the file, so that one answer is used once. Throws, with the remedy, if that fails. */
export function takeVersion(path: string): string {
  return inFolder(path, ({ at }, name) => {
    const file = openSync(at(name), FOR_READING);
    try {
      const stats = fstatSync(file);
      const fault = stats.isFile() ? ownershipFault(stats) : "is not a file (links are not followed)";
      if (fault !== null) throw new Error(`not upgraded: ${path} ${fault}`);
      const bytes = Buffer.alloc(MAX_BYTES + 1);
      const text = bytes.toString("latin1", 0, readSync(file, bytes, 0, bytes.length, 0));
      remove(at(name));
      const version = text.endsWith("\n") ? releaseOf(text.slice(0, -1)) : null;
      if (version === null) throw new Error(`not upgraded: ${path} has no version of a package`);
      return version;
    } finally {
      closeSync(file);
    }
  });
}

function inFolder<T>(path: string, use: (folder: Opened, name: string) => T): T {
  let opened: Opened | undefined;
  try {
    const folder = openTrusted(dirname(resolve(path)), "folder");
    if (!folder.ok) throw new Error(`not upgraded: ${path} is not trusted: ${folder.error}`);
    opened = folder.value;
    return use(opened, basename(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new Error(
      `not upgraded: ${path} cannot be used (${codeOf(error)}): systemctl start rollcall-node-shim-upgrade makes it`,
      { cause: error },
    );
  } finally {
    opened?.close();
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
