// Reads a cluster with kubectl, which has the operator's kubeconfig and authentication.
import { failure, type Result } from "../../shared/result.ts";
import { clusterFlags, type KubectlFlags, runKubectl, type RunKubectl } from "../operator/kubectl.ts";
import { type ClusterReader, parseAnswer, type ReadFault } from "./cluster-reader.ts";

/** The time limit of each request, in seconds. kubectl's default is no limit. */
const REQUEST_SECONDS = 20;

export function kubectlReader(flags: KubectlFlags, run: RunKubectl = runKubectl): ClusterReader {
  const common = [`--request-timeout=${REQUEST_SECONDS}s`, ...clusterFlags(flags)];
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
/** The messages of kubectl if no apiserver answers within the time limit. */
const UNREACHABLE =
  /^(Unable to connect to the server|The connection to the server|Error from server \(Timeout\)|error: .*(timeout|deadline exceeded|no such host|connection refused))/im;

/** kubectl's message for the reason Invalid, from policies of the apiserver, without "Error from server". */
const INVALID = /^The (request|\S+ ".*") is invalid/;

/** Turns a failure of kubectl into a fault, from kubectl's output `stderr`, or from `fault` if that is empty. */
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
