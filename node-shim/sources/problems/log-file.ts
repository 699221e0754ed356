// Follows a log's file while programs write, replace and truncate it.
import type { Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { codeOf } from "../../base/fault.ts";
import { FOR_READING } from "../../base/ownership.ts";

/** The most bytes of a turn, so that a flood costs a bounded time. The rest follows with the next turn. */
export const TURN_BYTES = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** The most bytes before the end of a file that a monitor reads at its start. */
const LOOKBACK_BYTES = 4 * 1024 * 1024;
/** The most unread bytes. A monitor that falls further behind continues LOOKBACK_BYTES before the end. */
const MOST_BEHIND = 32 * 1024 * 1024;
const MOST_LINE = 64 * 1024;
/** The most bytes before the position that must be the same in the next read: another text shows a rewritten file. */
const KNOWN_BYTES = 64;
/** The most turns for which the path may have no file, as between two steps of a rotation. */
const MISSING_TURNS = 5;

interface Place {
  file: FileHandle;
  inode: number;
  position: number;
  /** The beginning of a line whose end is not written yet. */
  rest: string;
  /** Whether the next line lacks its beginning. */
  isPart: boolean;
  /** The last bytes before the position. */
  known: string;
}

export class FollowedFile {
  readonly #path: string;
  readonly #buffer = Buffer.alloc(CHUNK_BYTES);
  #place: Place;
  /** The file before the present one: programs may write to it until they have opened the new one. */
  #replaced: Place | null = null;
  /** Whether the last status showed no byte after the position. */
  #isQuiet = false;
  #missing = 0;
  readonly #warn: (message: string) => void;
  /** Whether the last read may have left bytes. */
  isBehind = false;

  private constructor(path: string, place: Place, warn: (message: string) => void) {
    this.#path = path;
    this.#place = place;
    this.#warn = warn;
  }

  /** Opens the file near its end. Throws if the file cannot be read. */
  static async open(path: string, warn: (message: string) => void): Promise<FollowedFile> {
    return new FollowedFile(path, await openedAt(path, (bytes) => Math.max(0, bytes - LOOKBACK_BYTES)), warn);
  }

  /**
   * Returns the lines since the last call, each with its line break; of a new or truncated file, all lines. An asynchronous
   * call of the system costs more than its work, so that a growing file gets no status, and a quiet one no read.
   */
  async read(): Promise<string> {
    let late = "";
    if (this.#replaced !== null) {
      late = await this.#readLate(this.#replaced);
      if (this.isBehind) return late;
      await this.#replaced.file.close();
      this.#replaced = null;
    }
    if (!this.#isQuiet) {
      const { text, bytes } = await this.#readOn();
      if (bytes > 0) return late + text;
    }
    const now = await statOrNull(this.#path);
    this.#missing = now === null ? this.#missing + 1 : 0;
    if (this.#missing > MISSING_TURNS) throw new Error(`${this.#path} is missing`);
    if (now !== null) late += await this.#follow(now);
    if (this.isBehind) return late;
    this.#isQuiet = now?.size === this.#place.position;
    return this.#isQuiet ? late : late + (await this.#readOn()).text;
  }

  async #readOn(): Promise<{ text: string; bytes: number }> {
    const read = await readOn(this.#place, this.#buffer);
    this.isBehind = read.bytes >= TURN_BYTES;
    if (this.isBehind) await this.#catchUp();
    return read;
  }

  async #catchUp(): Promise<void> {
    const { file, inode, position } = this.#place;
    const { size } = await file.stat();
    if (size - position <= MOST_BEHIND) return;
    const next = size - LOOKBACK_BYTES;
    this.#place = { ...placeAt(next), file, inode };
    this.#warn(`${this.#path} grows faster than it can be read: ${next - position} bytes were skipped`);
  }

  async close(): Promise<void> {
    await this.#replaced?.file.close();
    await this.#place.file.close();
  }

  /** Returns lines that were written to a replaced file since its last read. */
  async #readLate(replaced: Place): Promise<string> {
    const { text, bytes } = await readOn(replaced, this.#buffer);
    this.isBehind = bytes >= TURN_BYTES;
    return text;
  }

  /** Opens the path's file if it is another one, or has become shorter. Returns the last lines of the earlier file. */
  async #follow(now: Stats): Promise<string> {
    const before = this.#place;
    const isOther = now.ino !== before.inode;
    if (!isOther && now.size >= before.position) return "";
    const next = await openedAt(this.#path, () => 0);
    this.#place = next;
    if (!isOther) {
      await before.file.close();
      return "";
    }
    this.#replaced = before;
    return this.#readLate(before);
  }
}

async function openedAt(path: string, positionOf: (bytes: number) => number): Promise<Place> {
  let file: FileHandle;
  try {
    file = await open(path, FOR_READING);
  } catch (error) {
    throw new Error(`${path} cannot be read (${codeOf(error)})`, { cause: error });
  }
  const stats = await file.stat();
  const position = positionOf(stats.size);
  if (stats.isFile()) return { ...placeAt(position), file, inode: stats.ino };
  await file.close();
  throw new Error(`${path} is not a file`);
}

const placeAt = (position: number) => ({ position, rest: "", isPart: position > 0, known: "" });

/** Returns the path's status; null if the path is missing. */
async function statOrNull(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Reads whole lines, of at most TURN_BYTES. The characters are bytes, since a chunk may end in a character. */
async function readOn(place: Place, buffer: Buffer): Promise<{ text: string; bytes: number }> {
  let text = "";
  let bytes = 0;
  for (let isAtEnd = false; !isAtEnd && bytes < TURN_BYTES;) {
    const read = await readChunk(place, buffer);
    bytes += read.bytes;
    isAtEnd = read.bytes < CHUNK_BYTES - KNOWN_BYTES;
    const all = place.rest + read.text;
    const end = all.lastIndexOf("\n") + 1;
    place.rest = all.slice(end, end + MOST_LINE);
    if (end > 0) text += all.slice(place.isPart ? all.indexOf("\n") + 1 : 0, end);
    place.isPart &&= end === 0;
  }
  return { text, bytes };
}

/** Reads the bytes from the position on; from the beginning of a file that a program has truncated and written again. */
async function readChunk(place: Place, buffer: Buffer): Promise<{ text: string; bytes: number }> {
  const { file, position, known } = place;
  const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, position - known.length);
  const chunk = buffer.toString("latin1", 0, bytesRead);
  if (!chunk.startsWith(known) && !HOLE.test(chunk)) {
    Object.assign(place, placeAt(0));
    return readChunk(place, buffer);
  }
  const bytes = Math.max(0, bytesRead - known.length);
  place.position += bytes;
  place.known = chunk.slice(-KNOWN_BYTES);
  // A program that does not append writes at its earlier position into a truncated file, after a hole.
  return { text: chunk.slice(known.length).replace(HOLE, ""), bytes };
}

const HOLE = /^\0+/;
