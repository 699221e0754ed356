// Checks which users can change or replace a file. The shim trusts only root and the user that runs the shim.
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

const STICKY = 0o1000;
const GROUP_WRITES = 0o020;
/** The most symbolic links that a path may have: the kernel's own limit, path_resolution(7). */
const MAX_LINKS = 40;

/** Returns the reason why a file of this owner and mode is not trusted; null if it is trusted. */
export function ownershipFault({ uid, mode }: { uid: number; mode: number }, ownUid: number): string | null {
  if (uid !== 0 && uid !== ownUid) return `belongs to user ${uid}: chown it to root`;
  return (mode & 0o022) === 0 ? null : "can be written by others: chmod go-w";
}

/**
 * Returns the first untrusted path and the reason. Checks the folder, each folder above, and each symbolic link on
 * its path, since a user who may write to a folder can replace its contents. Returns null if the path is missing or
 * unreadable: using the folder fails anyway.
 */
export function folderFault(
  folder: string,
  ownUid: number,
  programUid = 0, // the running program's owner, who could replace the program itself
): string | null {
  const rest = namesOf(resolve(folder));
  let links = 0;
  for (let path = "/"; ;) {
    const stats = statsOf(path);
    if (stats === null) return null;
    let next: string | undefined;
    if (stats.isSymbolicLink()) {
      if (stats.uid !== 0 && stats.uid !== ownUid)
        return `${path} is a link of user ${stats.uid}'s: remove it`;
      if (++links > MAX_LINKS) return null;
      const target = readlinkSync(path);
      rest.unshift(...namesOf(target));
      next = isAbsolute(target) ? "/" : dirname(path);
    } else {
      const fault = rest.length === 0 ? ownershipFault(stats, ownUid) : faultAbove(stats, ownUid, programUid);
      if (fault !== null) return `${path} ${fault}`;
      const name = rest.shift();
      if (name === undefined) return null;
      // `path` has no symbolic links here, so join() resolves ".." correctly.
      next = join(path, name);
    }
    path = next;
  }
}

/**
 * Returns the reason why a folder above the checked folder is not trusted; null if it is trusted. In a sticky
 * folder such as /tmp, users cannot move the files of others. A group with the owner's number has only the owner as
 * a member (pam_umask(8), usergroups).
 */
function faultAbove({ uid, gid, mode }: Stats, ownUid: number, programUid: number): string | null {
  if (![0, ownUid, programUid].includes(uid))
    return `belongs to user ${uid}, who can replace what is in it: run as that user`;
  if ((mode & STICKY) !== 0) return null;
  return ownershipFault({ uid: 0, mode: gid === uid ? mode & ~GROUP_WRITES : mode }, ownUid);
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

function statsOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}
