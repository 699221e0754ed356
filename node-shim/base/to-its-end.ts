// Runs a program that must not be interrupted halfway, as package managers are: what would end this process waits for it.
import { spawn } from "node:child_process";
import { after } from "./clock.ts";
import { printable } from "../../shared/protocol/printable.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { faultOf } from "./fault.ts";

export interface LongRun {
  program: string;
  args: readonly string[];
  /** All that the program gets. */
  environment: NodeJS.ProcessEnv;
  /** After this time it is asked to end, by SIGTERM; what it has started goes on to its own end. */
  deadlineMs: number;
  /** How long what it has started may still write, once it has ended itself. */
  graceMs: number;
}

const ENDING = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** The last lines, of both streams: what went wrong is in them. */
const MAX_SAID_CHARACTERS = 4096;
const MAX_LINES = 5;

/** Resolves once it has ended; an error has the last lines of what it said. Never rejects. */
export async function runToItsEnd(run: LongRun): Promise<Result<null>> {
  let asked: NodeJS.Signals | undefined;
  const hold = (signal: NodeJS.Signals) => {
    asked = signal;
  };
  for (const signal of ENDING) process.on(signal, hold);
  const ended = await ending(run);
  for (const signal of ENDING) process.off(signal, hold);
  if (asked) process.kill(process.pid, asked);
  return ended;
}

/** In this process's group, so that ^C on a terminal reaches it as it always does. */
function ending({ program, args, environment, deadlineMs, graceMs }: LongRun): Promise<Result<null>> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: "/",
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    let isLate = false;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-MAX_SAID_CHARACTERS);
      });
    const cancelDeadline = after(deadlineMs, () => {
      isLate = true;
      child.kill("SIGTERM");
    });
    const end = (outcome: Result<null>) => {
      cancelDeadline();
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(outcome);
    };
    child.on("error", (error) => end(failure(faultOf(error))));
    child.on("exit", (code, signal) => {
      const outcome = () => {
        if (isLate) return failure(withLines(`did not end within ${deadlineMs / 1000} s`, said));
        if (code === 0) return success(null);
        return failure(withLines(signal === null ? `ended with ${code}` : `was ended by ${signal}`, said));
      };
      const cancelGrace = after(graceMs, () => end(outcome()));
      child.on("close", () => {
        cancelGrace();
        end(outcome());
      });
    });
  });
}

/** In one line. */
function withLines(how: string, said: string): string {
  const lines = said.split("\n").flatMap((line) => line.trim() || []);
  return printable([how, lines.slice(-MAX_LINES).join("; ")].filter((part) => part !== "").join(": "));
}
