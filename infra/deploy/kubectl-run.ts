// Runs kubectl, with the credentials of the operator who deploys. Knows no command.
import { spawn } from "node:child_process";

export interface KubectlEnd {
  stdout: string;
  /** null: it ended well. */
  fault: string | null;
}
/** `args`: behind `kubectl`. */
export type Kubectl = (args: readonly string[]) => Promise<KubectlEnd>;

/** The fault is the last line of its stderr. */
export const runKubectl: Kubectl = (args) =>
  new Promise((resolve) => {
    const child = spawn("kubectl", args, { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    child.once("error", (error) => resolve({ stdout, fault: `kubectl: ${error.message}` }));
    child.once("close", (code) =>
      resolve({
        stdout,
        fault: code === 0 ? null : stderr.trim().split("\n").at(-1) || `kubectl ended with ${code}`,
      }),
    );
  });
