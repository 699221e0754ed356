// Who may have put a file there, or may put another in its place: root and this process's user alone are trusted.
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

const STICKY = 0o1000;
const GROUP_WRITES = 0o020;
/** As the kernel's own limit: path_resolution(7). */
const MAX_LINKS = 40;

/** Why this may not be trusted or run; null: it may. */
export function ownershipFault({ uid, mode }: { uid: number; mode: number }, ownUid: number): string | null {
  if (uid !== 0 && uid !== ownUid) return `belongs to user ${uid}: chown it to root`;
  return (mode & 0o022) === 0 ? null : "can be written by others: chmod go-w";
}

/**
 * As ownershipFault, with the path at fault before it: of the folder, of each folder above it and of each link on the
 * way, since whoever may write above it puts a folder of their own in its place. What is not there yet has no fault,
 * and neither has what cannot be looked at: it cannot be used either, and the use says why.
 */
export function folderFault(
  folder: string,
  ownUid: number,
  programUid = 0, // owner of the running program: whoever may replace it decides everything anyway
): string | null {
  const rest = namesOf(resolve(folder));
  let links = 0;
  for (let path = "/"; ;) {
    const stats = lookAt(path);
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
      // The path has no links by now, so that ".." is what its text says.
      next = join(path, name);
    }
    path = next;
  }
}

/**
 * In a sticky folder, as /tmp is one, nobody but its owner moves what is another's. A group with the owner's number is
 * the owner's alone, as where the umask is 002 (pam_umask(8), usergroups).
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

function lookAt(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}
