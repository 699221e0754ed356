// Reads the lines of logs while they are written: a file, systemd's journal, or the kernel's own buffer. Each source
// yields the text of whole raw lines in each turn, also an empty one, and throws if it cannot be read.
import { closeSync, openSync, readSync } from "node:fs";
import { timeLayout } from "../../../shared/go/time-layout.ts";
import { compileExpression, type Expression } from "../../../shared/go/regexp.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { nextTurn } from "../../base/clock.ts";
import { codeOf } from "../../base/fault.ts";
import { FOR_READING } from "../../base/ownership.ts";
import type { programText } from "../../base/program-lines.ts";
import type { LogMonitorConfig } from "./config.ts";
import { FollowedFile, TURN_BYTES } from "./log-file.ts";
import type { LogLine } from "./matcher.ts";

export interface LogSource {
  /** Yields texts of raw lines, each with its line break. */
  read: (signal: AbortSignal) => AsyncIterable<string>;
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
  run: typeof programText;
  /** Waits until the next turn, typically for two seconds at most, or until the signal is aborted. */
  turn: (signal: AbortSignal) => Promise<void>;
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Logs that lines were lost. */
  warn: (message: string) => void;
}

/** Milliseconds between two reads of a file with more bytes than one read takes: the reads use a tenth of a CPU. */
const BEHIND_MS = 60;

/** The characters after which more output of a program is likely, and the milliseconds to wait for it. */
const FULL_OUTPUT = 16 * 1024;
const MORE_OUTPUT_MS = 50;

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
    read: (signal) => readKernelBuffer(signal, options),
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
async function* readKernelBuffer(signal: AbortSignal, { turn, warn }: SourceOptions): AsyncGenerator<string> {
  const device = openSync(KERNEL_BUFFER, FOR_READING);
  const buffer = Buffer.alloc(8192);
  try {
    while (!signal.aborted) {
      const { records, isLost } = recordsIn(device, buffer);
      if (isLost) warn(LOST_RECORDS);
      yield records;
      await turn(signal);
    }
  } finally {
    closeSync(device);
  }
}

const LOST_RECORDS =
  "the kernel has overwritten messages that were not read: log_buf_len makes its buffer larger";

function recordsIn(device: number, buffer: Buffer): { records: string; isLost: boolean } {
  let records = "";
  let isLost = false;
  for (let bytes = 0; bytes < TURN_BYTES;) {
    try {
      const read = readSync(device, buffer);
      bytes += read;
      records += buffer.toString("utf8", 0, read);
    } catch (error) {
      const code = codeOf(error);
      if (code === "EAGAIN") break;
      // The kernel has overwritten records that were not read, and continues with the oldest one.
      if (code !== "EPIPE") throw error;
      isLost = true;
    }
  }
  return { records, isLost };
}

/** Parses a record of /dev/kmsg: `PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE`. The fields after it are other lines. */
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
  const { sinceMs, run, turn, pause } = options;
  let last = "";
  return {
    async *read(signal) {
      const { __CURSOR: cursor } = entryOf(last) ?? {};
      const fault = checked && cursor === undefined ? await journalFault(checked, options, signal) : null;
      if (fault !== null) throw new Error(fault);
      const from =
        cursor === undefined ? `--since=@${Math.floor(sinceMs / 1000)}` : `--after-cursor=${cursor}`;
      const texts = run("journalctl", ["--follow", "--no-tail", ...SHAPE, from, ...matches], { signal });
      for await (const text of eachTurn(
        texts,
        () => turn(signal),
        () => pause(MORE_OUTPUT_MS, signal),
      )) {
        last = text.slice(text.lastIndexOf("\n", text.length - 2) + 1) || last;
        yield text;
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
    const texts = run("journalctl", ["--boot", ...SHAPE, ...more], { signal, anyExitCode: true });
    for await (const text of texts) return entryOf(text.slice(0, text.indexOf("\n")));
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

/**
 * Yields the text of each turn. The first one comes after a turn, so that a program that fails has failed. Reads only in
 * turns: journalctl writes each line alone, and to wake this process for each line costs more than to search it.
 */
async function* eachTurn(
  texts: AsyncIterable<string>,
  turn: () => Promise<void>,
  pause: () => Promise<void>,
): AsyncGenerator<string> {
  const iterator = texts[Symbol.asyncIterator]();
  let isRead = false as boolean;
  let wake = () => {};
  const read = () => {
    const reading = iterator.next();
    const end = () => {
      isRead = true;
      wake();
    };
    isRead = false;
    // One reaction to a read, which may wait for days: Promise.race would add one in each turn, and keep it.
    reading.then(end, end);
    return reading;
  };
  for (let reading = read(), isOver = false; !isOver;) {
    await turn();
    let batch = "";
    for (let isFull = false; batch.length < TURN_BYTES;) {
      if (!isRead)
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (isFull) void pause().then(resolve);
          else nextTurn(resolve);
        });
      if (!isRead) break;
      const result = await reading;
      isOver = result.done === true;
      if (result.done) break;
      batch += result.value;
      isFull = result.value.length >= FULL_OUTPUT;
      reading = read();
    }
    yield batch;
  }
}

function fileSource(config: LogMonitorConfig, options: SourceOptions): Result<LogSource> {
  const lineOf = fileLine(config, options);
  if (!lineOf.ok) return lineOf;
  if (config.logPath === "") return failure("/logPath: must name a file");
  return success({
    async *read(signal) {
      const file = await FollowedFile.open(config.logPath, options.warn);
      try {
        while (!signal.aborted) {
          yield await file.read();
          await (file.isBehind ? options.pause(BEHIND_MS, signal) : options.turn(signal));
        }
      } finally {
        await file.close();
      }
    },
    lineOf: lineOf.value,
    asWritten: (text) => Buffer.from(text).toString("latin1"),
  });
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
