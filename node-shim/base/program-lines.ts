// Runs a program without a shell, and yields the lines of its output while they come: one by one, or as texts. Kills the
// program's process group when its caller stops reading, or when its time is over.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { getDefaultHighWaterMark, type Readable, setDefaultHighWaterMark } from "node:stream";
import { childEnvironment, endText, killGroup, MAX_ERROR_CHARACTERS } from "./child.ts";
import { codeOf } from "./fault.ts";

/** The most characters of a line. Further characters of the line are dropped. */
const LINE_LENGTH = 64 * 1024;

interface ProgramOptions {
  /** Ends the program when aborted. The lines before that count. */
  signal: AbortSignal;
  /** true if the exit code does not matter, as of a program that reports partial faults with it. */
  anyExitCode?: boolean;
  /** The program's name in an error, if another program starts it. */
  name?: string;
  /** Ends each line: a line break, or NUL for a program whose lines may have line breaks. */
  separator?: "\n" | "\0";
}

/** Yields the program's lines. The program waits while the caller does not read. Throws if the program fails. */
export async function* programLines(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): AsyncGenerator<string> {
  const { separator = "\n" } = options;
  for await (const text of programText(program, args, options)) yield* text.split(separator).slice(0, -1);
}

/** Yields texts of whole lines, each with its separator. Otherwise as programLines. */
export async function* programText(
  program: string,
  args: readonly string[],
  { signal, anyExitCode = false, name = program, separator = "\n" }: ProgramOptions,
): AsyncGenerator<string> {
  const child = withoutReadAhead(() =>
    spawn(program, args, {
      // The program gets its own process group, so that killGroup reaches every process that the program starts.
      detached: true,
      cwd: "/",
      env: childEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  let group = child.pid;
  const kill = () => {
    killGroup(group);
    // Once the program has ended, another group may get its number.
    if (child.exitCode !== null || child.signalCode !== null) group = undefined;
  };
  child.once("exit", kill);
  let stop = () => {};
  const stopped = new Promise<null>((resolve) => {
    stop = () => {
      kill();
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(null);
    };
  });
  const fault = Promise.race([stopped, faultAtEnd(child)]);
  process.once("exit", kill);
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    yield* linesOf(child.stdout, separator);
    const text = await fault;
    if (text !== null && (text.isStart || !anyExitCode))
      throw new Error(`${text.isStart ? program : name} ${text.fault}`);
  } finally {
    signal.removeEventListener("abort", stop);
    process.off("exit", kill);
    stop();
    // A process in a hung file system outlives SIGKILL: it must not keep this process open.
    child.unref();
  }
}

/** Returns what `make` returns, whose streams read only on demand: each read of a program's line wakes this process. */
function withoutReadAhead<T>(make: () => T): T {
  const before = getDefaultHighWaterMark(false);
  setDefaultHighWaterMark(false, 1);
  try {
    return make();
  } finally {
    setDefaultHighWaterMark(false, before);
  }
}

/** Resolves with the reason why the program did not start, or did not end with 0; null if it did. */
function faultAtEnd(
  child: ChildProcessByStdio<null, Readable, Readable>,
): Promise<{ fault: string; isStart: boolean } | null> {
  let errors = "";
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (text: string) => (errors = (errors + text).slice(-MAX_ERROR_CHARACTERS)));
  return new Promise((resolve) => {
    child.on("error", (error) => {
      const isMissing = codeOf(error) === "ENOENT";
      const fault = isMissing ? "is not installed on this machine" : `cannot be started (${codeOf(error)})`;
      resolve({ fault, isStart: true });
    });
    child.on("close", (code, ended) =>
      resolve(code === 0 ? null : { fault: endText(code, ended, errors), isStart: false }),
    );
  });
}

/** Yields a stream's texts of whole lines, each with its separator. Ends quietly if the stream is destroyed. */
async function* linesOf(stream: Readable, separator: string): AsyncGenerator<string> {
  stream.setEncoding("utf8");
  let rest = "";
  try {
    for await (const chunk of stream as AsyncIterable<string>) {
      const text = rest + chunk;
      const end = text.lastIndexOf(separator) + 1;
      rest = text.slice(end, end + LINE_LENGTH);
      if (end > 0) yield text.slice(0, end);
    }
  } catch (error) {
    if (codeOf(error) !== "ERR_STREAM_PREMATURE_CLOSE" && codeOf(error) !== "ABORT_ERR") throw error;
  }
  if (rest !== "") yield rest + separator;
}
