// Runs a short-lived program, and kills its process group if it hangs or writes too much.
import { after } from "./clock.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { spawn } from "node:child_process";
import { faultOf } from "./fault.ts";

interface ChildOptions {
  program: string;
  args: readonly string[];
  /** After this time the program and its process group are killed. */
  deadlineMs: number;
  /** The limit of its standard output. */
  maxBytes: number;
}

export type RunProgram = (options: ChildOptions) => Promise<Result<string>>;

/** The result of a program that fails quotes the last line of its standard error. */
const MAX_ERROR_CHARACTERS = 512;

/** Resolves with the standard output of a program that ends with 0. Never rejects. */
export function runChild({ program, args, deadlineMs, maxBytes }: ChildOptions): Promise<Result<string>> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      // Makes a process group, so that killGroup reaches every process in it.
      detached: true,
      cwd: "/",
      env: environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let errors = "";
    const kill = () => killGroup(child.pid);
    const end = (reading: Result<string>) => {
      cancel();
      process.off("exit", kill);
      // A process that has left the group may hold the pipes open.
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(reading);
    };
    const stop = (error: string) => {
      kill();
      end(failure(error));
    };
    const cancel = after(deadlineMs, () => stop(`did not end within ${deadlineMs / 1000} s`));
    process.once("exit", kill);
    child.on("error", (error) => end(failure(faultOf(error))));
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) stop(`wrote more than ${maxBytes} bytes`);
      else chunks.push(chunk);
    });
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => (errors = (errors + text).slice(-MAX_ERROR_CHARACTERS)));
    child.on("close", (code, signal) => {
      if (code === 0) return end(success(Buffer.concat(chunks).toString()));
      const lastLine = errors.trimEnd().split("\n").at(-1) ?? "";
      const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
      return end(failure(lastLine === "" ? how : `${how}: ${lastLine}`));
    });
  });
}

/** A child gets no secret of the shim's environment. */
function environment(): NodeJS.ProcessEnv {
  const { PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" } = process.env;
  return { PATH, LANG: "C.UTF-8" };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The whole group has ended already.
  }
}
