// `npm start` as a user runs it, in a folder of its own, with its output at hand.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { thisRun } from "./run-record.ts";

export const ROOT = resolve(import.meta.dirname, "../..");

export interface Start {
  /** What it has printed so far, both streams. */
  output: () => string;
  /** Resolves with the match once the output has it; rejects when the program ends before. */
  printed: (pattern: RegExp) => Promise<RegExpExecArray>;
  process: ChildProcess;
  /** Exit code, once it has ended. */
  ended: Promise<number | null>;
}

export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "rollcall-e2e-"));
  const remove = () => {
    thisRun().folder(path);
    // What a killed process has started may still write its last line.
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  };
  return { path, remove };
}

/** `environment` replaces KUBEBUILDER_ASSETS: without it the embedded apiserver runs. */
export function startLocal(flags: string[], environment: { KUBEBUILDER_ASSETS?: string } = {}): Start {
  const { KUBEBUILDER_ASSETS: _, ...inherited } = process.env;
  const child = spawn(process.execPath, ["infra/local/start.ts", ...flags], {
    cwd: ROOT,
    env: { ...inherited, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      for (const listener of listeners) listener();
    });
  }
  const ended = new Promise<number | null>((done) => child.once("close", (code) => done(code)));
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
  return { output: () => text, printed, process: child, ended };
}

/** The pid of a part and the command that starts it again, as printed. */
export async function partOf(start: Start, name: string): Promise<{ pid: number; command: string }> {
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

/** Asks again and again until the answer is one; the test's own timeout bounds it. */
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
