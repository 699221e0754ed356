// Runs the real shim against a hostile Worker, as a process of its own.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../../../node-shim/main.ts", import.meta.url));

export interface ShimRun {
  output: string;
  /** The process's greatest resident memory in MiB. */
  memoryMiB: number;
  tookMs: number;
}

export interface Shim {
  /** Runs a command. After `forMs`, the process gets SIGTERM, and SIGKILL five seconds later. */
  run: (command: string, forMs: number) => Promise<ShimRun>;
  /** Enrols the machine under an earlier Worker, so that `run` needs no enrolment. */
  remove: () => void;
}

export function shimWith(url: string): Shim {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-hostile-"));
  const token = join(folder, "token");
  writeFileSync(token, `rcj1_${"A".repeat(43)}`, { mode: 0o600 });
  const state = join(folder, "state");
  const flags: Record<string, string[]> = {
    join: ["--join-token-file", token, "--hostname-override", "edge-1"],
    run: [
      "--join-token-file",
      token,
      "--hostname-override",
      "edge-1",
      "--log-format",
      "text",
      "--questions",
      "safe",
    ],
    doctor: ["--hostname-override", "edge-1"],
    "upgrade --check": [],
  };
  return {
    run: (command, forMs) =>
      new Promise((resolve) => {
        const toWorker = command === "status" ? [] : ["--url", url];
        const args = [MAIN, ...command.split(" "), ...toWorker, "--state", state, ...(flags[command] ?? [])];
        const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
        const run = { output: "", memoryMiB: 0, tookMs: 0 };
        const beganMs = performance.now();
        for (const stream of [child.stdout, child.stderr])
          stream.setEncoding("utf8").on("data", (text: string) => (run.output += text));
        const measure = setInterval(
          () => (run.memoryMiB = Math.max(run.memoryMiB, memoryOf(child.pid))),
          100,
        );
        const stop = setTimeout(() => child.kill("SIGTERM"), forMs);
        const kill = setTimeout(() => child.kill("SIGKILL"), forMs + 5000);
        child.once("close", () => {
          for (const timer of [measure, stop, kill]) clearTimeout(timer);
          resolve({ ...run, tookMs: performance.now() - beganMs });
        });
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function memoryOf(pid: number | undefined): number {
  try {
    const [, kiB] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kiB ?? 0) / 1024;
  } catch {
    return 0;
  }
}
