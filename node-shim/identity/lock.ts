// Locks a state folder for one process: two shims with one key would make each other's tickets invalid.
import { linkSync, mkdirSync, renameSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../base/fault.ts";
import { cgroupsOf, isAlive, thisProcess } from "../base/process-id.ts";
import { readIfThere, requireTrusted, writeNew } from "../base/state-file.ts";

/**
 * Makes the folder if needed, and takes its lock, also from a process that has ended. Throws with the holder's
 * process ID and the remedy.
 */
export function lockFolder(folder: string): { release: () => void } {
  const path = join(folder, "lock");
  const mine = thisProcess();
  // Checks the folders above first, because the shim is about to make a folder in them.
  requireTrusted(folder);
  try {
    makeFolder(folder);
    // Checks again, because another user may have made the folder after the first check, in /tmp for example.
    requireTrusted(folder);
    for (let attempt = 0; attempt < 3; attempt++) {
      if (take(path, mine)) return { release: () => release(path, mine) };
      const holder = readIfThere(path) ?? "";
      if (isAlive(holder)) return inUse(folder, holder);
      discard(path, holder);
    }
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).code) throw error;
    const code = codeOf(error);
    const cure =
      code === "ENOSPC" || code === "EDQUOT" ? "free some space there" : "run as a user who may write there";
    throw new Error(`${folder} cannot be used (${code}): pass another --state, or ${cure}`, { cause: error });
  }
  throw new Error(`${path} cannot be taken: remove it if nothing uses ${folder}`);
}

/**
 * Makes a folder and the folders above. Node's recursive mkdir never returns in /proc, and reports a read-only file
 * system as ENOENT.
 */
function makeFolder(path: string): void {
  const make = () => {
    try {
      mkdirSync(path, { mode: 0o700 });
      return "made";
    } catch (error) {
      const code = codeOf(error);
      if (code === "EEXIST" || code === "ENOENT") return code;
      throw error;
    }
  };
  if (make() !== "ENOENT") return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

function inUse(folder: string, holder: string): never {
  const [pid = ""] = holder.split(" ");
  const how = isOfService(cgroupsOf(pid)) ? " (systemctl stop rollcall-node-shim)" : "";
  throw new Error(`${folder} is in use by process ${pid}: stop it${how}, or pass another --state`);
}

/**
 * Returns whether a process is of the shim's own service, not of a cron job or container. `cgroups` is the
 * process's list as in cgroups(7).
 */
export function isOfService(cgroups: string): boolean {
  return /\/rollcall-node-shim\.service$/m.test(cgroups);
}

/**
 * Takes the lock, and returns false if another process has it. Links a complete file, so that no process reads a
 * lock without its holder.
 */
function take(path: string, mine: string): boolean {
  const beside = `${path}.${process.pid}`;
  writeNew(beside, mine);
  try {
    linkSync(beside, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    unlinkSync(beside);
  }
}

/**
 * Removes the lock of an ended process. Renames the lock file first, and puts it back if another process has just
 * taken the lock.
 */
function discard(path: string, holder: string): void {
  const aside = `${path}.${process.pid}.stale`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  try {
    if ((readIfThere(aside) ?? "") !== holder) linkSync(aside, path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    unlinkSync(aside);
  }
}

function release(path: string, mine: string): void {
  if (readIfThere(path) !== mine) return;
  unlinkSync(path);
}
