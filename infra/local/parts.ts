// Runs the local cluster's processes, each with a log file. A process that ends is not started again. A shell ends the
// processes if this program ends without doing so, for example by SIGKILL.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { after, monotonicMs, pause } from "../../node-shim/base/clock.ts";

export interface Part {
  name: string;
  /** The command with which a user can start the part again. */
  command: string[];
  logFile: string;
  process: ChildProcess;
  /** Milliseconds from SIGTERM to SIGKILL. */
  graceMs: number;
  /** Resolves when the process ends, with a text about its end. */
  ended: Promise<string>;
}

export interface Parts {
  start: (name: string, command: string[], logFile: string, graceMs?: number) => Part;
  running: () => readonly Part[];
  /** Stops all parts in the reverse order of their start. Afterwards no part can start. */
  stop: () => Promise<void>;
}

/** The usual milliseconds from SIGTERM to SIGKILL. */
const GRACE_MS = 4000;

/**
 * Returns functions that start and stop parts. `onEnd` is called for each part that ends by itself. With
 * `detached`, each part has its own process group: Ctrl-C then ends only this program, which stops the parts in
 * order.
 */
export function localParts(
  onEnd: (part: Part, how: string) => void,
  detached = true,
  graceMs = GRACE_MS,
): Parts {
  const parts: Part[] = [];
  let stopping = false;
  let guard: Guard | undefined;
  return {
    start(name, command, logFile, ownGraceMs = graceMs) {
      if (stopping) throw new Error("interrupted");
      const part = startPart({ name, command, logFile, graceMs: ownGraceMs }, detached);
      parts.push(part);
      guard ??= startGuard(graceMs);
      guard(part);
      void part.ended.then((how) => {
        if (!stopping) onEnd(part, how);
      });
      return part;
    },
    running: () => parts,
    async stop() {
      stopping = true;
      for (const part of parts.toReversed()) await stopPart(part);
    },
  };
}

/** Has a part ended with this program, however this program ends. */
type Guard = (part: Part) => void;

/**
 * Reads `+ PID` for each start of a part and `- PID` for its end. At the end of the input, stops the running parts, and
 * after $1 seconds kills those that still run: workerd waits for its sockets.
 */
const GUARD_SCRIPT = `pids=" "
while read -r change pid; do
  case $change in
    +) pids="$pids$pid " ;;
    -) pids="\${pids%% $pid *} \${pids#* $pid }" ;;
  esac
done
[ "$pids" = " " ] && exit
kill $pids
sleep "$1"
kill -9 $pids`;

/** Starts the shell in a process group of its own: Ctrl-C and SIGKILL of this program do not reach it. */
function startGuard(graceMs: number): Guard {
  const shell = spawn("/bin/sh", ["-c", GUARD_SCRIPT, "guard", String(graceMs / 1000)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // Without the shell the parts still run, and this program stops them where it can.
  shell.on("error", () => {});
  shell.stdin.on("error", () => {});
  shell.unref();
  (shell.stdin as Socket).unref();
  return ({ process: { pid }, ended }) => {
    if (pid === undefined) return;
    shell.stdin.write(`+ ${pid}\n`);
    void ended.then(() => shell.stdin.write(`- ${pid}\n`));
  };
}

function startPart(given: Omit<Part, "process" | "ended">, detached: boolean): Part {
  const { command, logFile } = given;
  const log = openSync(logFile, "a", 0o600);
  const child = spawn(command[0] as string, command.slice(1), { stdio: ["ignore", log, log], detached });
  closeSync(log);
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(`could not be started: ${error.message}`));
    child.once("exit", (code, signal) =>
      resolve(signal ? `was ended by ${signal}` : `ended with exit code ${code}`),
    );
  });
  return { ...given, process: child, ended };
}

async function stopPart({ process: child, ended, graceMs }: Part): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill("SIGTERM");
  const cancel = after(graceMs, () => child.kill("SIGKILL"));
  await ended;
  cancel();
}

/** Polls until `ready` returns true. Throws with a line of the log if the part ends first, or is not ready in time. */
export async function untilReady(
  part: Part,
  ready: () => Promise<boolean>,
  deadlineMs = 90_000,
): Promise<void> {
  let ended: string | undefined;
  void part.ended.then((how) => (ended = how));
  const giveUpAt = monotonicMs() + deadlineMs;
  while (!(await ready().catch(() => false))) {
    if (ended !== undefined) throw new Error(`${endText(part, ended)} (log: ${part.logFile})`);
    if (monotonicMs() > giveUpAt)
      throw new Error(`${part.name} is not ready after ${deadlineMs / 1000} s (log: ${part.logFile})`);
    await pause(50);
  }
}

/** Returns a line about a part that has ended. `how` is the result of `ended`. */
export function endText({ name, logFile }: Part, how: string): string {
  return `${name} ${how}: ${faultLine(logFile)}`;
}

/** Returns the last line of a log that reports a fault. After a crash, the stack and Node's version follow it. */
function faultLine(file: string): string {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  const fault = lines.findLast((line) => /error|fail|cannot|denied/i.test(line) && !/^\s+at /.test(line));
  return (fault ?? lines.at(-1) ?? "").trim();
}
