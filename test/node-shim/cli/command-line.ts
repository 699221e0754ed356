// Runs a whole command line in this process. Contains no test.
import { vi } from "vitest";
import { runCommandLine } from "../../../node-shim/cli/command-line.ts";

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}
const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Runs a command line until the command ends or exits, as a process would. */
export async function commandLine(args: string[], environment: Record<string, string> = {}): Promise<Ended> {
  const text = { stdout: "", stderr: "" };
  let exited: Ended | undefined;
  const listeners = SIGNALS.map((signal) => process.listeners(signal));
  for (const name of ["ROLLCALL_JOIN_TOKEN", "ROLLCALL_URL"]) vi.stubEnv(name, environment[name]);
  for (const name of ["stdout", "stderr"] as const)
    vi.spyOn(process[name], "write").mockImplementation((chunk) => {
      text[name] += String(chunk);
      return true;
    });
  vi.spyOn(console, "error").mockImplementation((line) => void (text.stderr += `${String(line)}\n`));
  vi.spyOn(process, "exit").mockImplementation((code) => {
    // A real process would have ended here, so later output does not count.
    exited ??= { code: Number(code), ...text };
    throw new Error("the process has ended");
  });
  try {
    await runCommandLine(args);
    return exited ?? { code: Number(process.exitCode ?? 0), ...text };
  } finally {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    process.exitCode = undefined;
    for (const [index, signal] of SIGNALS.entries())
      for (const listener of process.listeners(signal))
        if (!listeners[index]?.includes(listener)) process.off(signal, listener);
  }
}
