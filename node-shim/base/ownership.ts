// Opens files, folders and sockets that no untrusted user can have put at their path. The shim trusts only root and
// the user that runs the shim. The caller uses the opened descriptor, so that a later change of the path has no
// effect.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  type Stats,
  statSync,
} from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { failure, type Result, success } from "../../shared/result.ts";
import { codeOf } from "./fault.ts";
import { firstBytes } from "./reading.ts";

const STICKY = 0o1000;
const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o022;
/** The most symbolic links that a path may have: the kernel's own limit, path_resolution(7). */
const MAX_LINKS = 40;
/** Opens a name itself, even a socket, a link or an unreadable folder (O_PATH, for which Node.js has no name). */
export const AS_IT_IS = 0o10000000 | constants.O_NOFOLLOW;
/** Opens a file for reading, and does not wait for a writer if the file is a pipe. */
export const FOR_READING = constants.O_RDONLY | constants.O_NONBLOCK;

/** The end of a path. Of a socket or device, only the owner matters: its mode decides who may connect. */
type Kind = "folder" | "file" | "socket";

/** The users that may own what the shim opens. */
export interface Users {
  own: number;
  /** The owner of the running program, who could replace the program itself. May own the folders above. */
  program: number;
}

interface Opening {
  /** The mode of the folders that are missing, which are then made. Absent: a missing folder is an error. */
  makeMode?: number;
  users?: Users;
}

/** What a path led to. The descriptor stays open until `close`. */
export interface Opened {
  /** A path that leads to the opened file, folder or socket itself, whatever happens to its former path. */
  self: string;
  /** The descriptor, which only names its file (O_PATH): it can be neither read nor written. */
  descriptor: number;
  stats: Stats;
  /** Returns the path of a name in the opened folder. */
  at: (name: string) => string;
  close: () => void;
}

/** Opens a path, or returns the reason why it is not trusted. Throws the system's error if the path is missing. */
export type OpenTrusted = (path: string, kind: Kind, opening?: Opening) => Result<Opened>;

/** Returns the reason why a file of this owner and mode is not trusted; null if it is trusted. */
export function ownershipFault(
  { uid, mode }: { uid: number; mode: number },
  ownUid: number = ownUser(),
): string | null {
  return ownerFault(uid, ownUid) ?? writeFault(mode);
}

function ownerFault(uid: number, ownUid: number): string | null {
  return uid === 0 || uid === ownUid ? null : `belongs to user ${uid}: chown it to root`;
}

function writeFault(mode: number, ofOthers = OTHERS_WRITE): string | null {
  if ((mode & ofOthers) === 0) return null;
  return `can be written by others (mode ${(mode & 0o7777).toString(8)}): chmod go-w`;
}

/**
 * Opens a path after a check of its end, of each folder above and of each symbolic link on the way: a user who may
 * write to a folder can replace its contents. Opens each name in the folder that was just checked.
 */
export const openTrusted: OpenTrusted = (path, kind, { makeMode, users = theseUsers() } = {}) => {
  const rest = namesOf(resolve(path));
  let links = 0;
  let here = "/";
  let descriptor = openSync("/", AS_IT_IS);
  const moveTo = (next: number) => {
    closeSync(descriptor);
    descriptor = next;
  };
  try {
    for (;;) {
      const stats = fstatSync(descriptor);
      const fault = rest.length === 0 ? faultAtEnd(stats, kind, users) : faultAbove(stats, users);
      if (fault !== null) return failure(`${here} ${fault}`);
      const name = rest.shift();
      if (name === undefined) {
        const opened = openedAs(descriptor, stats);
        descriptor = -1;
        return success(opened);
      }
      const next = openIn(descriptor, name, makeMode);
      const found = fstatSync(next);
      if (!found.isSymbolicLink()) {
        moveTo(next);
        here = join(here, name);
        continue;
      }
      closeSync(next);
      if (found.uid !== 0 && found.uid !== users.own)
        return failure(`${join(here, name)} is a link of user ${found.uid}'s: remove it`);
      if (++links > MAX_LINKS) throw Object.assign(new Error(`ELOOP: ${path}`), { code: "ELOOP" });
      // Users without write permission in the checked folder cannot replace the link.
      const target = readlinkSync(`${selfOf(descriptor)}/${name}`);
      rest.unshift(...namesOf(target));
      if (!isAbsolute(target)) continue;
      moveTo(openSync("/", AS_IT_IS));
      here = "/";
    }
  } finally {
    if (descriptor !== -1) closeSync(descriptor);
  }
};

/** Returns a folder's first untrusted path and the reason; null also if missing or unreadable, since its use fails. */
export function folderFault(folder: string, users: Users = theseUsers()): string | null {
  try {
    const opened = openTrusted(folder, "folder", { users });
    if (!opened.ok) return opened.error;
    opened.value.close();
  } catch {
    return null;
  }
  return null;
}

/**
 * Opens a file that an operator has named, and calls `read` with its descriptor. Returns the reason if the file is
 * not trusted. Throws what `read` throws, or the system's error.
 */
export function withTrustedFile<T>(path: string, read: (descriptor: number, stats: Stats) => T): Result<T> {
  // The process that started the shim has opened this descriptor, typically a pipe: --config <(…).
  if (/^(\/dev\/stdin|\/(dev|proc\/self)\/fd\/\d+)$/.test(path)) return success(readOpened(path, read));
  const opened = openTrusted(path, "file");
  if (!opened.ok) return opened;
  const { self, close } = opened.value;
  try {
    return success(readOpened(self, read, FOR_READING));
  } finally {
    close();
  }
}

/**
 * Reads a text of at most `mostBytes` from a file that an operator has named. The error continues a sentence that begins
 * with the path. Never throws.
 */
export function trustedText(path: string, mostBytes: number): Result<string> {
  try {
    const bytes = withTrustedFile(path, (descriptor, stats) =>
      stats.isDirectory() ? null : firstBytes(descriptor, mostBytes + 1),
    );
    if (!bytes.ok) return failure(`is not trusted: ${bytes.error}`);
    return bytes.value === null || bytes.value.length > mostBytes
      ? failure(`is not a file of at most ${mostBytes} bytes`)
      : success(bytes.value.toString());
  } catch (error) {
    return failure(`cannot be read (${codeOf(error)})`);
  }
}

function readOpened<T>(
  path: string,
  read: (descriptor: number, stats: Stats) => T,
  flags: number = constants.O_RDONLY,
): T {
  const descriptor = openSync(path, flags);
  try {
    return read(descriptor, fstatSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function openedAs(descriptor: number, stats: Stats): Opened {
  const self = selfOf(descriptor);
  let isOpen = true;
  const close = () => {
    // A second close would close another file that has the number by then.
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
  return { self, descriptor, stats, at: (name) => `${self}/${name}`, close };
}

/** Opens a name in an opened folder. Makes a folder of that name if it is missing and `makeMode` is given. */
function openIn(folder: number, name: string, makeMode: number | undefined): number {
  const path = `${selfOf(folder)}/${name}`;
  try {
    return openSync(path, AS_IT_IS);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    if (!existsSync("/proc/self/fd"))
      throw new Error("/proc is not mounted: the shim reads files and facts there", { cause: error });
    if (makeMode === undefined) throw error;
  }
  try {
    mkdirSync(path, { mode: makeMode });
  } catch (error) {
    // Another process may have made the folder meanwhile. The caller checks its owner.
    if (codeOf(error) !== "EEXIST") throw error;
  }
  return openSync(path, AS_IT_IS);
}

/** Returns the path of an open descriptor: proc(5). It leads to the opened file, and not through its former path. */
export const selfOf = (descriptor: number) => `/proc/self/fd/${descriptor}`;

function faultAtEnd(stats: Stats, kind: Kind, { own }: Users): string | null {
  if (kind === "folder") return ownershipFault(stats, own);
  const isShared = kind === "socket" || stats.isCharacterDevice();
  return ownerFault(stats.uid, own) ?? (isShared ? null : writeFault(stats.mode, othersOf(stats)));
}

/** Returns why a folder above is not trusted, or null. In a sticky folder (/tmp), users cannot move others' files. */
function faultAbove(stats: Stats, { own, program }: Users): string | null {
  const { uid, mode } = stats;
  if (![0, own, program].includes(uid))
    return `belongs to user ${uid}, who can replace what is in it: run as that user, or use another folder`;
  if ((mode & STICKY) !== 0) return null;
  return writeFault(mode, othersOf(stats));
}

/** Returns the bits of a mode that let other users than the owner read the file. */
export const othersReadBits = (stats: Stats): number => othersOf(stats) << 1;

/** Returns the bits that let others write. A group with the owner's number has only the owner: pam_umask(8), usergroups. */
const othersOf = ({ uid, gid }: Stats) => (gid === uid ? OTHERS_WRITE & ~GROUP_WRITES : OTHERS_WRITE);

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

const ownUser = (): number => process.geteuid?.() ?? 0;

/** Returns this process's user, and the owner of its program: root for a package, or the user of a checkout. */
function theseUsers(): Users {
  const [, program] = process.argv;
  let owner = 0;
  try {
    if (program !== undefined) owner = statSync(program).uid;
  } catch {
    // A program that is not a file belongs to no other user.
  }
  return { own: ownUser(), program: owner };
}
