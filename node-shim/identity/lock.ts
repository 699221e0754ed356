// One process per state folder: two shims with one key would each make the other's tickets stale.
import { linkSync, mkdirSync, renameSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../base/fault.ts";
import { cgroupsOf, isAlive, thisProcess } from "../base/process-id.ts";
import { readIfThere, requireTrusted, writeNew } from "../base/state-file.ts";

/**
 * Makes the folder where it is missing and takes its lock, or throws with its holder and what to do. A lock whose
 * process is gone is taken over.
 */
export function lockFolder(folder: string): { release: () => void } {
  const path = join(folder, "lock");
  const mine = thisProcess();
  // Before anything is made in it: the folders above may lead elsewhere.
  requireTrusted(folder);
  try {
    makeFolder(folder);
    // Another user may have made it meanwhile, in /tmp for example.
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
      code === "ENOSPC" || code === "EDQUOT" ? "free some space there" : "run as who may write there";
    throw new Error(`${folder} cannot be used (${code}): pass another --state, or ${cure}`, { cause: error });
  }
  throw new Error(`${path} cannot be taken: remove it if nothing uses ${folder}`);
}

/**
 * With those above it. Node's own recursive mkdir never returns where the kernel makes no folders (/proc), and calls a
 * read-only file system ENOENT.
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

/** By name: what cron or a container's service has started is not stopped by stopping those. `cgroups`: cgroups(7). */
export function isOfService(cgroups: string): boolean {
  return /\/rollcall-node-shim\.service$/m.test(cgroups);
}

/** Writes another file and links it, so that a lock is never seen without its holder. */
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

/** Moves the lock away first, and puts it back where it is another process's by now. */
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
