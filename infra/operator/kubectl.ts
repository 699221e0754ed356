// Runs kubectl, with the operator's own credentials and login programs.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { shownText } from "../../shared/protocol/printable.ts";
import { failure, type Result, success } from "../../shared/result.ts";

/** The flags that choose a cluster other than kubectl's default. */
export interface KubectlFlags {
  kubeconfig?: string;
  kubeContext?: string;
}

/** Returns the flags. Without --kubeconfig they choose the cluster of the `npm start` whose folder is `state`. */
export function ofState<F extends KubectlFlags>(flags: F, { state }: { state?: string }): F {
  const { kubeconfig = state && join(state, "kubeconfig") } = flags;
  return { ...flags, ...(kubeconfig && { kubeconfig }) };
}

export interface KubectlEnd {
  stdout: string;
  stderr: string;
  /** The failure of kubectl as a text, or null after exit code 0. */
  fault: string | null;
}

/** Runs `kubectl` with these arguments and the standard input `input`. */
export type RunKubectl = (args: readonly string[], input: string) => Promise<KubectlEnd>;

/** The time limit of a kubectl request, which may wait for a login program. */
const REQUEST_MS = 60_000;
/** The time limit of one kubectl process, in milliseconds. Longer than any `--timeout` that a command passes. */
const COMMAND_MS = 10 * 60_000;

/** The most characters of kubectl's output, above the lists of a cluster with 5,000 Nodes. */
const MOST_OUTPUT = 256 * 1024 * 1024;
const TOO_MUCH = `kubectl wrote more than ${MOST_OUTPUT / 2 ** 20} MiB`;
/** The most characters of kubectl's errors. The last ones stay. */
const MOST_ERRORS = 64 * 1024;

export const clusterFlags = ({ kubeconfig, kubeContext }: KubectlFlags): string[] => [
  ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
  ...(kubeContext === undefined ? [] : [`--context=${kubeContext}`]),
];

export const runKubectl: RunKubectl = (args, input) => spawnKubectl(args, input, REQUEST_MS);

/** Runs kubectl and returns its stdout. The error is the last line of its stderr. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<Result<string>>;

export const kubectl: Kubectl = async (args, input = "") => {
  const { stdout, stderr, fault } = await spawnKubectl(args, input, COMMAND_MS);
  if (fault === null) return success(stdout);
  return failure(`kubectl: ${shownText(stderr.trimEnd().split("\n").at(-1) || fault)}`);
};

function spawnKubectl(args: readonly string[], input: string, withinMs: number): Promise<KubectlEnd> {
  return new Promise((resolve) => {
    const child = spawn("kubectl", args, { stdio: ["pipe", "pipe", "pipe"], timeout: withinMs });
    let stdout = "";
    let stderr = "";
    let isTooMuch = false;
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
      if (stdout.length <= MOST_OUTPUT) return;
      isTooMuch = true;
      child.kill();
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr = (stderr + chunk).slice(-MOST_ERRORS);
    });
    // A kubectl that ends at once reads no input. The failed write is ignored, and the exit code counts.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    child.once("error", (error) => {
      const isMissing = codeOf(error) === "ENOENT";
      resolve({ stdout, stderr: "", fault: isMissing ? "it is not installed" : faultOf(error) });
    });
    child.once("close", (code, signal) => {
      const late = isTooMuch ? TOO_MUCH : `kubectl did not end within ${withinMs / 1000} s`;
      resolve({ stdout, stderr, fault: code === 0 ? null : signal === null ? `exit code ${code}` : late });
    });
  });
}
