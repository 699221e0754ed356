// Reads the lines of logs while they are written: a file, systemd's journal, or the kernel's own buffer. Each source
// yields a batch of raw lines in each turn, also an empty one, and throws if it cannot be read.
import { closeSync, openSync, readSync, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { timeLayout } from "../../../shared/go/time-layout.ts";
import { compileExpression, type Expression } from "../../../shared/go/regexp.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { codeOf } from "../../base/fault.ts";
import { FOR_READING } from "../../base/ownership.ts";
import type { programLines } from "../../base/program-lines.ts";
import type { LogMonitorConfig } from "./config.ts";
import type { LogLine } from "./matcher.ts";

export interface LogSource {
  read: (signal: AbortSignal) => AsyncIterable<readonly string[]>;
  lineOf: (raw: string) => LogLine | null;
  /** Returns a text as it is in raw lines. */
  asWritten: (text: string) => string;
}

export interface SourceOptions {
  /** The milliseconds since 1970 of the first line that counts. */
  sinceMs: number;
  wallMs: () => number; // typically wallMs
  /** Returns milliseconds since the kernel's start. */
  uptimeMs: () => number;
  /** Returns when the first process started, in milliseconds since the kernel's start: in a container much later. */
  firstProcessMs: () => number;
  run: typeof programLines;
  /** Waits until the next turn, typically the next second, or until the signal is aborted. */
  turn: (signal: AbortSignal) => Promise<void>;
}

const CHUNK_BYTES = 64 * 1024;
/** The most bytes of a turn, so that a flood costs a bounded time. The rest follows with the next turn. */
const TURN_BYTES = 1024 * 1024;
/** The most bytes before the end of a file that a monitor reads at its start. */
const LOOKBACK_BYTES = 4 * 1024 * 1024;
const MOST_LINE = 64 * 1024;

/** Returns the source of a monitor's lines. Fails with the field of the configuration that is wrong. */
export function logSource(config: LogMonitorConfig, options: SourceOptions): Result<LogSource> {
  if (config.plugin === "filelog") return fileSource(config, options);
  if (config.plugin === "kmsg") return success(kernelSource(options));
  const { source = "" } = config.pluginConfig;
  if (source === "") return failure("/pluginConfig/source: must name the log's program");
  const { logPath } = config;
  // journalctl reads all journals by default, also those of a machine that keeps none on its disk.
  const folder = logPath === "" || logPath === "/var/log/journal" ? [] : [`--directory=${logPath}`];
  // Each user can write lines with any identifier, but none that come from the kernel.
  const isKernel = source === "kernel" ? OF_KERNEL : [];
  const matches = [...folder, `SYSLOG_IDENTIFIER=${source}`, ...isKernel];
  // The lines of another folder may be of another boot or machine.
  const checked = folder.length === 0 ? isKernel : null;
  return success(journalSource(matches, checked, options));
}

/** Reads /dev/kmsg; the kernel's part of the journal if the device is out of reach, as in the service's sandbox. */
function kernelSource(options: SourceOptions): LogSource {
  if (!isKernelBufferReadable()) return journalSource(OF_KERNEL, OF_KERNEL, options);
  return {
    read: (signal) => readKernelBuffer(signal, options.turn),
    lineOf: recordLine(options),
    asWritten: (text) => text,
  };
}

const KERNEL_BUFFER = "/dev/kmsg";
const OF_KERNEL = ["_TRANSPORT=kernel"];

function isKernelBufferReadable(): boolean {
  try {
    closeSync(openSync(KERNEL_BUFFER, FOR_READING));
    return true;
  } catch (error) {
    return !["ENOENT", "EACCES", "EPERM"].includes(codeOf(error));
  }
}

/** Yields the records of the kernel's buffer. A read returns one record, and never waits. */
async function* readKernelBuffer(
  signal: AbortSignal,
  turn: SourceOptions["turn"],
): AsyncGenerator<readonly string[]> {
  const device = openSync(KERNEL_BUFFER, FOR_READING);
  const buffer = Buffer.alloc(8192);
  try {
    while (!signal.aborted) {
      yield recordsIn(device, buffer);
      await turn(signal);
    }
  } finally {
    closeSync(device);
  }
}

function recordsIn(device: number, buffer: Buffer): string[] {
  const records: string[] = [];
  for (let bytes = 0; bytes < TURN_BYTES;) {
    try {
      const read = readSync(device, buffer);
      bytes += read;
      records.push(buffer.toString("utf8", 0, read));
    } catch (error) {
      const code = codeOf(error);
      // EPIPE: the kernel has overwritten records that were not read, and continues with the oldest one.
      if (code === "EAGAIN") break;
      if (code !== "EPIPE") throw error;
    }
  }
  return records;
}

/** Parses a record of /dev/kmsg: `PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE`, then lines with fields. */
function recordLine({ sinceMs, wallMs, uptimeMs }: SourceOptions): LogSource["lineOf"] {
  return (raw) => {
    const [, micros, message = ""] = /^\d+,\d+,(\d+),[^;]*;([^\n]*)/.exec(raw) ?? [];
    const atMs = wallMs() - uptimeMs() + Number(micros) / 1000;
    const trimmed = message.trim();
    return micros === undefined || atMs < sinceMs || trimmed === "" ? null : { atMs, message: trimmed };
  };
}

interface JournalEntry {
  __REALTIME_TIMESTAMP?: string;
  __MONOTONIC_TIMESTAMP?: string;
  __CURSOR?: string;
  MESSAGE?: unknown;
}

/** Reads the lines that match. Unless `checked` is null, the journal must have a line of this boot that matches it. */
function journalSource(
  matches: readonly string[],
  checked: readonly string[] | null,
  options: SourceOptions,
): LogSource {
  const { sinceMs, run, turn } = options;
  let last = "";
  return {
    async *read(signal) {
      const { __CURSOR: cursor } = entryOf(last) ?? {};
      const fault = checked && cursor === undefined ? await journalFault(checked, options, signal) : null;
      if (fault !== null) throw new Error(fault);
      const from =
        cursor === undefined ? `--since=@${Math.floor(sinceMs / 1000)}` : `--after-cursor=${cursor}`;
      const lines = run("journalctl", ["--follow", "--no-tail", ...SHAPE, from, ...matches], { signal });
      for await (const batch of eachTurn(lines, () => turn(signal))) {
        last = batch.at(-1) ?? last;
        yield batch;
      }
    },
    lineOf(raw) {
      const { __REALTIME_TIMESTAMP: micros, MESSAGE: message } = entryOf(raw) ?? {};
      const atMs = Number(micros) / 1000;
      if (typeof message !== "string" || !(atMs >= sinceMs)) return null;
      return { atMs, message: message.trim() };
    },
    asWritten: (text) => JSON.stringify(text).slice(1, -1),
  };
}

const SHAPE = ["--quiet", "--output=json", "--output-fields=MESSAGE"];
/** The most time between the start of the first process and the first line of a journal that has lost none. */
const FIRST_LINE_MS = 120_000;

/** Returns why the journal has no lines that match, since the boot; null if it has some, or may have lost them. */
async function journalFault(
  matches: readonly string[],
  { run, firstProcessMs }: SourceOptions,
  signal: AbortSignal,
): Promise<string | null> {
  const oldest = async (more: readonly string[]): Promise<JournalEntry | null> => {
    const lines = run("journalctl", ["--boot", ...SHAPE, ...more], { signal, anyExitCode: true });
    for await (const line of lines) return entryOf(line);
    return null;
  };
  if ((await oldest(matches)) !== null) return null;
  const first = matches.length === 0 ? null : await oldest([]);
  if (first === null) return "the journal has no lines since the boot: journald stores none, or does not run";
  // A journal without its oldest lines may have had some of the kernel.
  const isWhole = Number(first.__MONOTONIC_TIMESTAMP) / 1000 - firstProcessMs() <= FIRST_LINE_MS;
  return isWhole ? NO_KERNEL_LINES : null;
}

const NO_KERNEL_LINES =
  "the journal has no lines of the kernel: see node-shim install-service --kmsg, or ReadKMsg in journald.conf";

function entryOf(raw: string): JournalEntry | null {
  try {
    return JSON.parse(raw) as JournalEntry;
  } catch {
    return null;
  }
}

/** Yields the lines of each turn. The first batch comes after a turn, so that a program that fails has failed. */
async function* eachTurn(
  lines: AsyncIterable<string>,
  turn: () => Promise<void>,
): AsyncGenerator<readonly string[]> {
  let batch: string[] = [];
  let bytes = 0;
  let wake = () => {};
  const reading = (async () => {
    for await (const line of lines) {
      batch.push(line);
      bytes += line.length;
      // The program waits until the batch is taken.
      if (bytes >= TURN_BYTES) await new Promise<void>((resolve) => (wake = resolve));
    }
    return true;
  })();
  for (let isOver = false; !isOver;) {
    isOver = await Promise.race([reading, turn().then(() => false)]);
    const taken = batch;
    [batch, bytes] = [[], 0];
    wake();
    yield taken;
  }
}

function fileSource(config: LogMonitorConfig, options: SourceOptions): Result<LogSource> {
  const lineOf = fileLine(config, options);
  if (!lineOf.ok) return lineOf;
  if (config.logPath === "") return failure("/logPath: must name a file");
  return success({
    read: (signal) => readFileLines(config.logPath, signal, options.turn),
    lineOf: lineOf.value,
    asWritten: (text) => Buffer.from(text).toString("latin1"),
  });
}

/** The most turns for which the path may have no file, as between two steps of a rotation. */
const MISSING_TURNS = 5;

/** Yields the lines that are written to a file. Follows the path to a new file, and begins again in a shorter one. */
async function* readFileLines(
  path: string,
  signal: AbortSignal,
  turn: SourceOptions["turn"],
): AsyncGenerator<readonly string[]> {
  let place = await openedAt(path, (bytes) => Math.max(0, bytes - LOOKBACK_BYTES));
  const buffer = Buffer.alloc(CHUNK_BYTES);
  try {
    // The first line may be a part of one.
    let isPart = place.position > 0;
    let missing = 0;
    let isReplaced = false;
    while (!signal.aborted) {
      const { lines, isAtEnd } = await readOn(place, buffer);
      if (isPart && lines.length > 0) {
        lines.shift();
        isPart = false;
      }
      yield lines;
      await turn(signal);
      const now = isAtEnd ? await statOrNull(path) : undefined;
      missing = now === null ? missing + 1 : 0;
      if (missing > MISSING_TURNS) throw new Error(`${path} is missing`);
      if (!now || (now.ino === place.inode && now.size >= place.position)) continue;
      // Programs may have written to the replaced file since it was read.
      if (now.ino !== place.inode && !isReplaced) {
        isReplaced = true;
        continue;
      }
      isReplaced = false;
      const next = await openedAt(path, () => 0);
      await place.file.close();
      place = next;
    }
  } finally {
    await place.file.close();
  }
}

interface Place {
  file: FileHandle;
  inode: number;
  position: number;
  /** The beginning of a line whose end is not written yet. */
  rest: string;
}

async function openedAt(path: string, position: (bytes: number) => number): Promise<Place> {
  let file: FileHandle;
  try {
    file = await open(path, FOR_READING);
  } catch (error) {
    throw new Error(`${path} cannot be read (${codeOf(error)})`, { cause: error });
  }
  const stats = await file.stat();
  if (stats.isFile()) return { file, inode: stats.ino, position: position(stats.size), rest: "" };
  await file.close();
  throw new Error(`${path} is not a file`);
}

/** Returns the path's status; null if the path is missing. */
async function statOrNull(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Reads whole lines, of at most TURN_BYTES. */
async function readOn(place: Place, buffer: Buffer): Promise<{ lines: string[]; isAtEnd: boolean }> {
  const lines: string[] = [];
  for (let bytes = 0; bytes < TURN_BYTES;) {
    const { bytesRead } = await place.file.read(buffer, 0, CHUNK_BYTES, place.position);
    bytes += bytesRead;
    place.position += bytesRead;
    // The bytes stay bytes, since a character may be cut at the end of a chunk.
    const parts = (place.rest + buffer.toString("latin1", 0, bytesRead)).split("\n");
    place.rest = (parts.pop() ?? "").slice(0, MOST_LINE);
    for (const part of parts) lines.push(part);
    if (bytesRead < CHUNK_BYTES) return { lines, isAtEnd: true };
  }
  return { lines, isAtEnd: false };
}

/** Returns the parser of a file's lines: of each expression's groups, upstream uses the last one. */
function fileLine(
  { pluginConfig, skipList }: LogMonitorConfig,
  { sinceMs, wallMs }: SourceOptions,
): Result<LogSource["lineOf"]> {
  const [timestamp, message] = [
    compiledField(pluginConfig, "timestamp"),
    compiledField(pluginConfig, "message"),
  ];
  if (!timestamp.ok) return timestamp;
  if (!message.ok) return message;
  const { timestampFormat = "" } = pluginConfig;
  if (timestampFormat === "") return failure("/pluginConfig/timestampFormat: must be a layout of Go's times");
  const parse = timeLayout(timestampFormat);
  return success((bytes) => {
    const raw = utf8(bytes);
    if (skipList.some((text) => raw.includes(text))) return null;
    const text = lastGroup(message.value, raw);
    const stamp = text === undefined ? undefined : lastGroup(timestamp.value, raw);
    const time = stamp === undefined ? null : parse(stamp);
    if (time === null || text === undefined) return null;
    const atMs = instantOf(time, wallMs());
    return atMs < sinceMs ? null : { atMs, message: text };
  });
}

const utf8 = (bytes: string) => Buffer.from(bytes, "latin1").toString();

function compiledField(fields: Readonly<Record<string, string>>, name: string): Result<Expression> {
  const { [name]: pattern = "" } = fields;
  if (pattern === "") return failure(`/pluginConfig/${name}: must be an expression`);
  const compiled = compileExpression(pattern);
  return compiled.ok ? compiled : failure(`/pluginConfig/${name}: ${compiled.error}`);
}

function lastGroup({ match, texts }: Expression, text: string): string | undefined {
  if (texts !== null && !texts.some((each) => text.includes(each))) return undefined;
  const found = match(text);
  return found === null ? undefined : (found.groups.at(-1) ?? "");
}

/** Returns the instant of a parsed time. Without a year it is this year's, or last year's if it would be tomorrow. */
function instantOf(time: NonNullable<ReturnType<ReturnType<typeof timeLayout>>>, nowMs: number): number {
  const { month, day, hour, minute, second, millisecond, offset } = time;
  const inYear = (year: number) =>
    offset === undefined
      ? new Date(year, month - 1, day, hour, minute, second, millisecond).getTime()
      : Date.UTC(year, month - 1, day, hour, minute - offset, second, millisecond);
  if (time.year !== 0) return inYear(time.year);
  const thisYear = new Date(nowMs).getFullYear();
  const atMs = inYear(thisYear);
  // Upstream takes this year always, so that it ignores December's lines in January.
  return atMs > nowMs + 24 * 3_600_000 ? inYear(thisYear - 1) : atMs;
}
