// Locks a state folder for one process: two shims with one key would make each other's tickets invalid.
import { linkSync, readlinkSync, renameSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../base/fault.ts";
import { cgroupsOf, isAlive, processWith, thisProcess } from "../base/process-id.ts";
import type { Opened } from "../base/ownership.ts";
import {
  hasCode,
  openState,
  readIfThere,
  unwritableCode,
  WRITE_HANGS,
  writeNew,
} from "../base/state-file.ts";

const LOCK = "lock";

/** The error of a folder that another process uses. */
export class InUse extends Error {}

/**
 * Makes and locks the folder; an ended holder does not count. Throws with the holder's process ID and the remedy. With
 * `unlocked`, calls it if the folder exists but its file system cannot be written, unless another shim uses the folder.
 * With `hangs`, does not attempt the write, which would not end.
 */
export function lockFolder(
  folder: string,
  unlocked?: (code: string) => void,
  hangs = false,
): { release: () => void } {
  const path = join(folder, LOCK);
  const mine = thisProcess();
  let opened: Opened | undefined;
  try {
    opened = openState(folder, 0o700);
    if (hangs) throw Object.assign(new Error(WRITE_HANGS), { code: WRITE_HANGS });
    for (let attempt = 0; attempt < 3; attempt++) {
      if (take(opened, mine)) return { release: releaser(opened, path, mine) };
      const holder = readIfThere(path) ?? "";
      if (isAlive(holder)) return inUse(folder, holder);
      discard(opened, path, holder);
    }
    throw new Error(`${path} cannot be taken: remove it if nothing uses ${folder}`);
  } catch (error) {
    const unwritable = unwritableCode(error);
    if (opened && unwritable !== null && unlocked) {
      const holder = readIfThere(path) ?? "";
      const other = isAlive(holder) ? holder : processWith("node-shim", readlinkSync(opened.self));
      if (other === null) {
        unlocked(unwritable);
        // The open folder shows another shim that this process uses the folder.
        return { release: opened.close };
      }
      opened.close();
      return inUse(folder, other);
    }
    opened?.close();
    if (!hasCode(error)) throw error;
    const code = codeOf(error);
    const cure =
      code === "ENOSPC" || code === "EDQUOT" ? "free some space there" : "run as a user who may write there";
    throw new Error(`${folder} cannot be used (${code}): pass another --state, or ${cure}`, { cause: error });
  }
}

function inUse(folder: string, holder: string): never {
  const [pid = ""] = holder.split(" ");
  const how = isOfService(cgroupsOf(pid)) ? " (systemctl stop rollcall-node-shim)" : "";
  throw new InUse(`${folder} is in use by process ${pid}: stop it${how}, or pass another --state`);
}

/** Returns whether `cgroups`, a process's list as in cgroups(7), has the shim's service, no cron job or container. */
export function isOfService(cgroups: string): boolean {
  return /\/rollcall-node-shim\.service$/m.test(cgroups);
}

/** Takes the lock; false if another process has it. Links a complete file, so that a lock always has its holder. */
function take({ at }: Opened, mine: string): boolean {
  const beside = at(`${LOCK}.${process.pid}`);
  writeNew(beside, mine);
  return moveTo(at(LOCK), beside);
}

/** Moves a file to `path`; false if `path` has a file already. The moved file is removed in either case. */
function moveTo(path: string, file: string): boolean {
  try {
    linkSync(file, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    unlinkSync(file);
  }
}

/** Removes an ended process's lock. Renames the file first, and puts it back if another process has just taken it. */
function discard({ at }: Opened, path: string, holder: string): void {
  const aside = `${LOCK}.${process.pid}.stale`;
  try {
    renameSync(at(LOCK), at(aside));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  if ((readIfThere(join(dirname(path), aside)) ?? "") === holder) unlinkSync(at(aside));
  else moveTo(at(LOCK), at(aside));
}

/** Returns a function that removes this process's lock, once. */
function releaser(opened: Opened, path: string, mine: string): () => void {
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    try {
      if (readIfThere(path) === mine) unlinkSync(opened.at(LOCK));
    } catch (error) {
      // The next process sees that the holder of the lock has ended.
      if (unwritableCode(error) === null) throw error;
    } finally {
      opened.close();
    }
  };
}
