// Runs `npm start` as a user does, in a folder of its own, and reads its output.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { KubeConfig } from "@kubernetes/client-node";
import { thisRun } from "./run-record.ts";

export const ROOT = resolve(import.meta.dirname, "../..");

export interface Started {
  /** Returns the program's output until now, from both stdout and stderr. */
  output: () => string;
  /** Resolves with the match once the output contains the pattern; rejects if the program ends before a match. */
  printed: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** Sends a signal to the program; `npm` gets it as from a terminal, in its whole process group. */
  end: (signal: "SIGINT" | "SIGTERM") => void;
  /** Resolves with the exit code once the program has ended. */
  ended: Promise<number | null>;
}

/** The program behind `npm start`, which runs as a single process without npm; or npm itself. */
export interface Start extends Started {
  process: ChildProcess;
}

export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "rollcall-e2e-"));
  const remove = () => {
    thisRun().folder(path);
    // The removal is retried, because a child of a killed process may still write its last line into the folder.
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  };
  return { path, remove };
}

/**
 * Starts the program behind `npm start`. The apiserver is the embedded one unless `environment` has
 * KUBEBUILDER_ASSETS.
 */
export function startLocal(flags: string[], environment: { KUBEBUILDER_ASSETS?: string } = {}): Start {
  const child = startProcess([process.execPath, "infra/local/start.ts", ...flags], environment);
  return { ...startOf(child), process: child, end: (signal) => child.kill(signal) };
}

/**
 * Starts `npm start` itself in a process group of its own, because Ctrl-C in a terminal reaches the whole group.
 */
export function startNpm(flags: string[]): Start {
  const child = startProcess(["npm", "start", "--", ...flags], {}, true);
  const end = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), signal);
  };
  return { ...startOf(child), process: child, end };
}

function startProcess(
  [program = "", ...args]: string[],
  environment: { KUBEBUILDER_ASSETS?: string },
  detached = false,
) {
  const { KUBEBUILDER_ASSETS: _, ...inherited } = process.env;
  return spawn(program, args, {
    cwd: ROOT,
    env: { ...inherited, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached,
  });
}

function startOf(child: ReturnType<typeof startProcess>): Omit<Started, "end"> {
  // If a signal ended npm, the code is 128 + the signal's number, as in a shell.
  const ended = new Promise<number | null>((done) =>
    child.once("close", (code, signal) => done(signal ? 128 + constants.signals[signal] : code)),
  );
  return outputOf([child.stdout, child.stderr], ended);
}

/** Collects the output that a program prints to these streams. */
export function outputOf(streams: readonly Readable[], ended: Promise<number | null>): Omit<Started, "end"> {
  let text = "";
  const listeners = new Set<() => void>();
  for (const stream of streams) {
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      for (const listener of listeners) listener();
    });
  }
  void ended.then(() => thisRun().log("npm start", text));
  const printed = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((found, rejected) => {
      const look = () => {
        const match = pattern.exec(text);
        if (!match) return;
        listeners.delete(look);
        found(match);
      };
      listeners.add(look);
      look();
      void ended.then((code) =>
        rejected(new Error(`ended with ${code} and never printed ${pattern}:\n${text}`)),
      );
    });
  return { output: () => text, printed, ended };
}

/**
 * Returns the process ID of a part of `npm start` and the command that starts this part again, both read from the
 * output.
 */
export async function partOf(start: Started, name: string): Promise<{ pid: number; command: string }> {
  const [, pid, command] = await start.printed(
    new RegExp(`^${name}, pid (\\d+); start it again:\\n {2}(.+)$`, "m"),
  );
  return { pid: Number(pid), command: command as string };
}

export function adminOf(folder: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(join(folder, "kubeconfig"));
  return config;
}

/** Repeats `ask` until it returns a value, which is then returned. Has no time limit but the test's own. */
export async function eventually<T>(ask: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined && answer !== false) return answer;
    await new Promise((done) => setTimeout(done, 100));
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
