// Runs a short-lived program, and kills its process group if it hangs or writes too much.
import { after } from "./clock.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { codeOf, faultOf } from "./fault.ts";

interface ChildOptions {
  program: string;
  /** The descriptor of the folder of `program`, which finds its own folder by $0. Absent: `program` is a path. */
  folder?: number;
  args: readonly string[];
  /** Milliseconds after which the program and its process group are killed. */
  deadlineMs: number;
  /** The largest number of bytes that the program may write to its standard output. */
  maxBytes: number;
}

export type RunProgram = (options: ChildOptions) => Promise<Result<string>>;

/** The most characters of standard error that the result of a failed program quotes. */
export const MAX_ERROR_CHARACTERS = 512;

/** The longest wait for the rest of the output of a program that has ended, in milliseconds. */
const REST_MS = 500;

/** How a program has ended: its exit code, and its standard output. */
interface Ended {
  code: number;
  output: string;
}

export type RunForCode = (options: ChildOptions) => Promise<Result<Ended>>;

/** Runs `program` as `runForCode` does. Resolves with a failure unless the program ends with exit code 0. */
export async function runChild(options: ChildOptions): Promise<Result<string>> {
  const ended = await runForCode(options);
  if (!ended.ok) return ended;
  const { code, output, errors } = ended.value;
  return code === 0 ? success(output) : failure(endText(code, null, errors));
}

/**
 * Runs `program`. Resolves with its exit code and standard output. Resolves with a failure if it did not start, hung,
 * wrote too much, or was ended by a signal. Never rejects. A process that the program leaves behind with its output open
 * counts for nothing, and is killed.
 */
export function runForCode({
  program,
  folder,
  args,
  deadlineMs,
  maxBytes,
}: ChildOptions): Promise<Result<Ended & { errors: string }>> {
  return new Promise((resolve) => {
    // The child has the folder as descriptor 3, so that a later change of the folder's path has no effect.
    const path = folder === undefined ? program : `/proc/self/fd/3/${program}`;
    const child = spawn(path, args, {
      // The program gets its own process group, so that killGroup reaches every process that the program starts.
      detached: true,
      cwd: "/",
      env: childEnvironment(),
      stdio: ["ignore", "pipe", "pipe", ...(folder === undefined ? [] : [folder])],
    }) as ChildProcessByStdio<null, Readable, Readable>;
    const chunks: Buffer[] = [];
    let bytes = 0;
    let errors = "";
    const kill = () => killGroup(child.pid);
    const end = (reading: Result<Ended & { errors: string }>) => {
      cancel();
      process.off("exit", kill);
      // Closes the output here, because a process that has left the group may still hold the pipe open.
      child.stdout.destroy();
      child.stderr.destroy();
      // A frozen process, or one in a hung file system, outlives SIGKILL: it must not keep this process open.
      child.unref();
      resolve(reading);
    };
    const stop = (error: string) => {
      kill();
      end(failure(error));
    };
    let cancel = after(deadlineMs, () => stop(`did not end within ${deadlineMs / 1000} s`));
    process.once("exit", kill);
    child.on("error", (error) => end(failure(folder === undefined ? faultOf(error) : startText(error))));
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) stop(`wrote more than ${maxBytes} bytes`);
      else chunks.push(chunk);
    });
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => (errors = (errors + text).slice(-MAX_ERROR_CHARACTERS)));
    const ended = (code: number | null, signal: string | null) =>
      end(
        code === null
          ? failure(endText(code, signal, errors))
          : success({ code, output: Buffer.concat(chunks).toString(), errors }),
      );
    child.on("exit", (code, signal) => {
      cancel();
      cancel = after(REST_MS, () => {
        kill();
        ended(code, signal);
      });
    });
    child.on("close", ended);
  });
}

/** Returns why a program of a folder did not start. The program exists, so that only its interpreter can be missing. */
function startText(error: Error): string {
  const code = codeOf(error);
  const remedy =
    code === "ENOENT" ? ": its first line (#!) names a program that is missing, or ends in CR" : "";
  return `cannot be started (${code})${remedy}`;
}

/** Returns how a program has ended, with the last line of its standard error. */
export function endText(code: number | null, signal: string | null, errors: string): string {
  const lastLine = errors.trimEnd().split("\n").at(-1) ?? "";
  const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
  return lastLine === "" ? how : `${how}: ${lastLine}`;
}

/** Returns the few environment variables that a child gets. None is a secret of the shim. */
export function childEnvironment(): NodeJS.ProcessEnv {
  const { PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" } = process.env;
  return { PATH, LANG: "C.UTF-8" };
}

export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Every process of the group has ended already.
  }
}
