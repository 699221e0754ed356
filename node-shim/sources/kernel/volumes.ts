// Finds this machine's mounted CSI volumes by the files that a kubelet writes next to them. Follows no symbolic link.
import { failure, type Result, success } from "../../../shared/result.ts";
import { constants } from "node:fs";
import { lstat, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { codeOf } from "../../base/fault.ts";
import { type Opened, openTrusted } from "../../base/ownership.ts";
import { oneAtATime } from "../../base/one-at-a-time.ts";
import type { Warn } from "../../base/reading.ts";

/** The most bytes that are read of a volume's file: upstream saveVolumeData writes seven short texts. */
export const VOLUME_DATA_BYTES = 16 * 1024;
/** The longest wait for a scan. A hung disk causes this delay once; later scans fail at once. */
const SCAN_GIVE_UP_MS = 2000;
/** The most bytes of all names together, since the Worker limits a report's body. */
export const VOLUME_NAMES_BYTES = 64 * 1024;
/** The most faults that one scan logs. */
const FAULTS_NAMED = 16;

const PLUGIN = "kubernetes.io/csi";
/** The folder of block volumes, which have their data one folder deeper (upstream getVolumeDeviceDataDir). */
const BLOCK_VOLUMES = "volumeDevices";

type Volumes = NonNullable<Facts["volumes"]>;
/** The result of reading a file, and a stamp of the file that was read. */
interface Known {
  stamp: string;
  volume: Result<string>;
}

/**
 * Returns a function that lists the mounted volumes as upstream GetVolumesInUse does, but from the disk alone:
 * `kubernetes.io/csi/<driver>^<handle>`, sorted, without duplicates. The list is synced after the first complete
 * scan, and a failed scan keeps the last list. Warns about unusable files. Must be called once in a process; the
 * function never rejects.
 */
export function volumeScanner(
  rootDir: string, // typically /var/lib/kubelet
  warn: Warn, // warns once about each source
  giveUpMs: number = SCAN_GIVE_UP_MS,
): () => Promise<Volumes> {
  let known = new Map<string, Known>();
  let last: Volumes = { synced: false, inUse: [] };
  const scan = oneAtATime("the scan of", (folder) => readVolumes(folder, known), giveUpMs);

  return async () => {
    const found = await scan(join(rootDir, "plugins", PLUGIN));
    if (!found.ok) {
      warn("volumes", found.error.message);
      return last;
    }
    known = found.value;
    last = { synced: true, inUse: inUse(known, warn) };
    return last;
  };
}

function inUse(known: ReadonlyMap<string, Known>, warn: Warn): string[] {
  const names = new Set<string>();
  let faults = 0;
  for (const [path, { volume }] of known) {
    if (volume.ok) names.add(volume.value);
    else if (faults++ < FAULTS_NAMED) warn(`volume ${path}`, `left out: ${volume.error}`);
  }
  return reportedNames(names, warn);
}

/** Returns the names, sorted. If a report cannot contain all names, warns and returns the first names that fit. */
export function reportedNames(names: ReadonlySet<string>, warn: Warn): string[] {
  const reported = firstThatFit([...names].sort());
  if (reported.length < names.size)
    warn(
      "volumes",
      `${names.size} are in use, of which the first ${reported.length} by name can be reported`,
    );
  return reported;
}

function firstThatFit(names: readonly string[]): string[] {
  let bytes = 0;
  const tooMany = names.findIndex((name, index) => {
    bytes += Buffer.byteLength(name);
    return bytes > VOLUME_NAMES_BYTES || index === FACTS_LIMITS.volumes;
  });
  return tooMany < 0 ? [...names] : names.slice(0, tooMany);
}

/** Reads a plugin's new vol_data.json files into `known` one by one, so that a slow scan keeps its progress. */
async function readVolumes(folder: string, known: Map<string, Known>): Promise<Map<string, Known>> {
  const opened = await openedFolder(folder);
  if (opened === null) return new Map();
  const { at, close } = opened;
  try {
    const found = new Map<string, Known>();
    for (const driver of await foldersIn(at("."))) {
      for (const volume of await foldersIn(at(driver))) {
        const data = driver === BLOCK_VOLUMES ? [driver, volume, "data"] : [driver, volume];
        const path = join(folder, ...data, "vol_data.json");
        const entry = await readVolume(at(join(...data, "vol_data.json")), known.get(path));
        if (entry === null) continue;
        known.set(path, entry);
        found.set(path, entry);
      }
    }
    return found;
  } finally {
    close();
  }
}

/** Opens the folder; null if it is missing. Throws if another user could have filled the folder. */
async function openedFolder(folder: string): Promise<Opened | null> {
  try {
    // A file system that hangs holds a thread here, and not the shim.
    await stat(folder);
    const opened = openTrusted(folder, "folder");
    if (!opened.ok) throw new Error(`${folder} is not trusted: ${opened.error}`);
    return opened.value;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Returns the names of the subfolders, sorted. Skips symbolic links. */
async function foldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? entry.name : [])).sort();
  } catch (error) {
    // The folder does not exist yet, or was unmounted during the scan.
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Reads a volume's file, or returns `known` if the file has not changed; null if the file is missing. */
async function readVolume(path: string, known: Known | undefined): Promise<Known | null> {
  try {
    const { ino, size, ctimeMs } = await lstat(path);
    const stamp = `${ino} ${size} ${ctimeMs}`;
    if (known?.stamp === stamp) return known;
    return { stamp, volume: volumeName(await readSmallFile(path)) };
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return null;
    // The empty stamp matches no file, so the next scan reads the file again.
    return { stamp: "", volume: failure(code === "ELOOP" ? "it is a symbolic link" : code) };
  }
}

/** Reads a file that is plain and small. Does not wait for a pipe's writer. */
async function readSmallFile(path: string): Promise<Result<string>> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return failure("it is not a file");
    const buffer = Buffer.alloc(VOLUME_DATA_BYTES + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > VOLUME_DATA_BYTES) return failure(`it has more than ${VOLUME_DATA_BYTES} bytes`);
    return success(buffer.toString("utf8", 0, bytesRead));
  } finally {
    await file.close();
  }
}

/** Returns a volume's unique name, as upstream csiPlugin.GetVolumeName and GetUniqueVolumeName do. */
function volumeName(text: Result<string>): Result<string> {
  if (!text.ok) return text;
  const { driverName, volumeHandle } = parseVolumeData(text.value);
  if (!isName(driverName) || !isName(volumeHandle))
    return failure("it is not JSON with driverName and volumeHandle");
  const name = `${PLUGIN}/${driverName}^${volumeHandle}`;
  if (name.length > FACTS_LIMITS.textLength || !name.isWellFormed())
    return failure(`its volume's name cannot be reported: at most ${FACTS_LIMITS.textLength} characters`);
  return success(name);
}

function parseVolumeData(text: string): Record<string, unknown> {
  try {
    const data: unknown = JSON.parse(text);
    return typeof data === "object" && data !== null ? { ...data } : {};
  } catch {
    return {};
  }
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
