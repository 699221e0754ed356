// Reads the size and the free space of a file system, as cAdvisor's fs.getVfsStats does.
import { success } from "../../../shared/result.ts";
import { dirname } from "node:path";
import { oneAtATime } from "../../base/one-at-a-time.ts";
import { type Reading, unreadable } from "../../base/reading.ts";

/** The longest wait for statfs. A hung network file system causes this delay once; later calls fail at once. */
const STATFS_GIVE_UP_MS = 2000;

/** The part of fs.promises.statfs's result that is used. Node 20 has no frsize. */
export interface StatFs {
  bsize: number;
  frsize?: number;
  blocks: number;
  bavail: number;
  files: number;
  ffree: number;
}

/** The bytes that users other than root may use, and the inodes. Fails if a number is too large for a report. */
export interface FileSystem {
  bytes: Reading<[available: number, capacity: number]>;
  inodes: Reading<[available: number, capacity: number]>;
}

/** Reads the file system of a path. The path need not exist. */
export type FileSystemReader = (path: string) => Promise<Reading<FileSystem>>;

/** Makes the reader of file systems. Must be called once in a process, since the reader remembers a call that hangs. */
export function fileSystemReader(
  statfs: (path: string) => Promise<StatFs>, // typically fs.promises.statfs
  giveUpMs: number = STATFS_GIVE_UP_MS,
): FileSystemReader {
  return oneAtATime("statfs", async (path) => fileSystem(await nearest(statfs, path)), giveUpMs);
}

/** Reads the file system of the nearest folder at or above a path: unlike a kubelet's, the folder may be missing. */
async function nearest(statfs: (path: string) => Promise<StatFs>, path: string): Promise<StatFs> {
  for (let folder = path; ; folder = dirname(folder)) {
    try {
      return await statfs(folder);
    } catch (error) {
      const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
      if (!missing || dirname(folder) === folder) throw error;
    }
  }
}

function fileSystem(stat: StatFs): FileSystem {
  // The kernel sets frsize to bsize if a file system has no fragments.
  const blockBytes = stat.frsize || stat.bsize;
  return {
    bytes: countable("bytes", stat.bavail * blockBytes, stat.blocks * blockBytes),
    inodes: countable("inodes", stat.ffree, stat.files),
  };
}

/** Returns the amounts, or a failure for a number like 2^64 − 1, for which the Worker would refuse the whole report. */
function countable(unit: string, available: number, capacity: number): FileSystem["bytes"] {
  if (Number.isSafeInteger(available) && Number.isSafeInteger(capacity))
    return success([available, capacity]);
  return unreadable(`${available} of ${capacity} ${unit} is more than can be reported`);
}
