// Answers questions about files: reads from their end, and only below the paths that the machine's owner has listed.
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, opendir, stat } from "node:fs/promises";
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { Newest, ParametersOf } from "../../shared/protocol/question.ts";
import { codeOf } from "../base/fault.ts";
import { AS_IT_IS, FOR_READING, selfOf } from "../base/ownership.ts";
import { type Asking, newestLines, type Source } from "./source.ts";
import { timeText } from "./table.ts";

/** The most names of a folder in an answer. */
const NAMES = 1000;
/** The most names of a folder that are read. Any user may make millions in /tmp. */
const NAMES_READ = 100_000;

/** Yields the newest lines of a file, or the names in a folder. */
export const files: Source<ParametersOf<"files">> = async function* (parameters, asking) {
  const { path } = parameters;
  const isListed = asking.files.some((listed) => path === listed || path.startsWith(`${listed}/`));
  if (!isListed) throw new Error(`${path} is not below a path of --question-files`);
  yield* newestOfFile(path, parameters, asking);
};

/** Yields the newest lines of the file at `path`, or the names in the folder. Follows no link on the way. */
export async function* newestOfFile(path: string, newest: Newest, asking: Asking): AsyncGenerator<string> {
  const { found, stats } = await openWithoutLinks(path, asking.stateFolder);
  try {
    if (stats.isDirectory()) yield* folderLines(selfOf(found.fd), asking);
    else if (!stats.isFile()) throw new Error(`${path} is not a file`);
    // A user who may write to the folder could have given another user's file a name in it.
    else if (stats.nlink > 1) throw new Error(`${path} has other names (hard links)`);
    else yield* fileLines(selfOf(found.fd), stats.size, newest, asking);
  } finally {
    await found.close();
  }
}

async function* fileLines(
  path: string,
  size: number,
  newest: Newest,
  asking: Asking,
): AsyncGenerator<string> {
  const file = await open(path, FOR_READING);
  try {
    yield* newestLines(backwards(file, size, asking), newest, asking);
  } finally {
    await file.close();
  }
}

/** Opens each name in the folder that was just opened. Throws for a link, and for the state folder. */
async function openWithoutLinks(
  path: string,
  stateFolder: string,
): Promise<{ found: FileHandle; stats: Stats }> {
  const secret = await stat(stateFolder).catch(() => null);
  let here = await open("/", AS_IT_IS | constants.O_DIRECTORY);
  let stats = await here.stat();
  try {
    for (const name of path.split("/").slice(1)) {
      const next = await open(`${selfOf(here.fd)}/${name}`, AS_IT_IS);
      await here.close();
      here = next;
      stats = await here.stat();
      if (stats.isSymbolicLink())
        throw new Error(`${path}: ${name} is a link: list the path that it leads to`);
      if (secret !== null && stats.dev === secret.dev && stats.ino === secret.ino)
        throw new Error(`${path}: the shim's state folder is secret`);
    }
    return { found: here, stats };
  } catch (error) {
    await here.close();
    const isSystems = error instanceof Error && "code" in error;
    throw isSystems ? new Error(`${path} cannot be read (${codeOf(error)})`, { cause: error }) : error;
  }
}

/** Yields a folder's names, each with its size and the time of its last change. */
async function* folderLines(folder: string, { cut }: Asking): AsyncGenerator<string> {
  const names: string[] = [];
  for await (const { name } of await opendir(folder, { bufferSize: NAMES })) {
    names.push(name);
    if (names.length === NAMES_READ) break;
  }
  if (names.length > NAMES) cut();
  for (const name of names.sort().slice(0, NAMES)) {
    const handle = await open(`${folder}/${name}`, AS_IT_IS).catch(() => null);
    if (handle === null) continue;
    const stats = await handle.stat();
    await handle.close();
    const end = stats.isDirectory()
      ? "/"
      : stats.isFile()
        ? ""
        : stats.isSymbolicLink()
          ? " (a link)"
          : " (no file)";
    yield `${timeText(stats.mtimeMs)} ${String(stats.size).padStart(14)} ${name}${end}`;
  }
}

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 10;

/**
 * Yields a file's lines from its end on; of a line of more than a block, the beginning. A piece from the middle of a line
 * could have a secret without its name.
 */
export async function* backwards(
  file: Pick<FileHandle, "read">,
  size: number,
  { signal, cut }: Pick<Asking, "signal" | "cut">,
): AsyncGenerator<string> {
  const least = Math.max(0, size - QUESTION_LIMITS.scannedBytes);
  let begun: Buffer = Buffer.alloc(0);
  let isEnd = true;
  for (let end = size; end > least && !signal.aborted;) {
    const start = Math.max(least, end - BLOCK_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    let rest: Buffer = Buffer.concat([buffer.subarray(0, bytesRead), begun]);
    for (let at = rest.lastIndexOf(NEWLINE); at >= 0; at = rest.lastIndexOf(NEWLINE)) {
      // The newline at the end of a file begins no line.
      if (!isEnd || at < rest.length - 1) yield rest.toString("utf8", at + 1);
      isEnd = false;
      rest = rest.subarray(0, at);
    }
    begun = rest.subarray(0, BLOCK_BYTES);
    end = start;
  }
  if (signal.aborted) return;
  if (least > 0) cut();
  else if (begun.length > 0) yield begun.toString();
}
