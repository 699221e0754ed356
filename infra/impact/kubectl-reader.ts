// Reads a cluster with kubectl: the operator's kubeconfig, and each way to authenticate that kubectl has.
import { spawn } from "node:child_process";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { failure, type Result } from "../../shared/result.ts";
import { type ClusterReader, parseAnswer, type ReadFault } from "./cluster-reader.ts";

/** For kubectl, instead of what it would choose itself. */
export interface KubectlFlags {
  kubeconfig?: string;
  kubeContext?: string;
}

export interface KubectlEnd {
  stdout: string;
  stderr: string;
  /** null: kubectl ended with exit code 0. */
  fault: string | null;
}

/** Runs `kubectl` with these arguments and this standard input. */
export type RunKubectl = (args: readonly string[], input: string) => Promise<KubectlEnd>;

/** Each request has this deadline; kubectl's own default is none. */
const REQUEST_SECONDS = 20;
/** Ends a kubectl that waits for something else than the apiserver, such as a login program. */
const PROGRAM_MS = 60_000;

export function kubectlReader(flags: KubectlFlags, run: RunKubectl = runKubectl): ClusterReader {
  const common = [
    `--request-timeout=${REQUEST_SECONDS}s`,
    ...(flags.kubeconfig === undefined ? [] : [`--kubeconfig=${flags.kubeconfig}`]),
    ...(flags.kubeContext === undefined ? [] : [`--context=${flags.kubeContext}`]),
  ];
  const request = async (args: readonly string[], input = ""): Promise<Result<unknown, ReadFault>> => {
    const { stdout, stderr, fault } = await run([...args, ...common], input);
    return fault === null ? parseAnswer(stdout) : failure(kubectlFault(stderr, fault));
  };
  return {
    get: (path) => request(["get", "--raw", path]),
    tryNode: (node) =>
      request(["create", "--raw", "/api/v1/nodes?dryRun=All", "-f", "-"], JSON.stringify(node)),
  };
}

const REASONS: Readonly<Record<string, ReadFault["reason"]>> = {
  Forbidden: "forbidden",
  NotFound: "absent",
  Expired: "expired",
  Gone: "expired",
};
/** What kubectl prints where no apiserver answers within the deadline. */
const UNREACHABLE =
  /^(Unable to connect to the server|The connection to the server|Error from server \(Timeout\)|error: .*(timeout|deadline exceeded|no such host|connection refused))/im;

/** kubectl has no "Error from server" before what an apiserver calls Invalid, as policies of its own do. */
const INVALID = /^The (request|\S+ ".*") is invalid/;

/** `stderr` is kubectl's; `fault` says how it ended where that is empty. */
export function kubectlFault(stderr: string, fault: string): ReadFault {
  const text = stderr.trim();
  if (/\(Unauthorized\)/.test(text)) return { reason: "unauthorized", message: text };
  if (UNREACHABLE.test(text)) return { reason: "unreachable", message: lastLine(text) };
  const [, reason = "", message = ""] = /Error from server(?: \((\w+)\))?: ([^]*)/.exec(text) ?? [];
  if (/<(!doctype|html)\b/i.test(message))
    return { reason: "not-kubernetes", message: "the answer is a web page, not an apiserver's" };
  if (message !== "") return { reason: REASONS[reason] ?? "refused", message };
  if (INVALID.test(text)) return { reason: "refused", message: text };
  return { reason: "usage", message: text === "" ? fault : lastLine(text).replace(/^error: /, "") };
}

const lastLine = (text: string) => text.split("\n").at(-1) ?? "";

const runKubectl: RunKubectl = (args, input) =>
  new Promise((resolve) => {
    const child = spawn("kubectl", args, { stdio: ["pipe", "pipe", "pipe"], timeout: PROGRAM_MS });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    // A kubectl that ends at once reads nothing: its exit code counts.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    child.once("error", (error) => {
      const isMissing = codeOf(error) === "ENOENT";
      resolve({ stdout, stderr: "", fault: isMissing ? "it is not installed" : faultOf(error) });
    });
    child.once("close", (code, signal) => {
      const late = `kubectl did not end within ${PROGRAM_MS / 1000} s`;
      resolve({ stdout, stderr, fault: code === 0 ? null : signal === null ? `exit code ${code}` : late });
    });
  });
