// Checks everything that a shim needs, and prints the remedy for each fault: `node-shim doctor`. Changes nothing.
import type { InitialNode } from "../../shared/node/initial-node.ts";
import { NOT_MEASURED } from "../../shared/setters/unmeasured.ts";
import { wallMs } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { previewNode } from "../machine/preview-node.ts";
import { PINNED_KEYS_TODO } from "../machine/pinned-keys.ts";
import { type MachineFlags, nodeName } from "../machine/settings.ts";
import type { Kind } from "../status/diagnoses.ts";
import type { StatusFile } from "../status/status-file.ts";
import { statusOf } from "../status/diagnosis.ts";
import { findOrigin, type FoundOrigin } from "../worker-link/origin.ts";
import { fail, type Finding, findingsText, ok, warn } from "./finding.ts";
import { checkIdentity } from "./identity-checks.ts";
import { checkWorker, findOutbound, transportFindings } from "./worker-checks.ts";
import { type WorkerProbes, workerProbes } from "./worker-probes.ts";

export interface DoctorFlags extends MachineFlags {
  url?: string;
  state: string;
  joinTokenFile?: string;
  json?: boolean;
}

/** Runs all checks once: a check comes after the checks that it depends on. */
export async function examine(
  flags: DoctorFlags,
  probes: WorkerProbes = workerProbes(),
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Finding[]> {
  const worker = await checkUrl(flags, probes, environment);
  const node = await checkNode(flags);
  let name: string;
  try {
    name = nodeName(flags);
  } catch {
    // The findings of checkNode include this fault already.
    return [...worker, ...node];
  }
  const identity = await checkIdentity(flags, name, environment);
  return [...worker, ...identity, ...(await checkShim(flags.state, wallMs())), ...node];
}

/** Checks the way to the Worker alone. */
export async function checkUrl(
  flags: Pick<DoctorFlags, "url" | "state" | "caFile" | "transport">,
  probes: WorkerProbes,
  environment: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  let found: FoundOrigin;
  try {
    found = findOrigin(flags, environment);
  } catch (error) {
    return [fail("URL", faultOf(error), "ask the Worker's operator for its URL")];
  }
  const { origin, source } = found;
  const url = ok("URL", `${origin} (${source})`);
  const { outbound, findings } = findOutbound(origin, flags, environment);
  if (outbound === null) return [url, ...findings];
  return [url, ...findings, ...(await checkWorker(origin, probes, outbound, flags.transport !== "http"))];
}

/** Returns the text to print and the exit code: 1 if the shim cannot work. */
export async function doctor(flags: DoctorFlags): Promise<{ text: string; exitCode: 0 | 1 }> {
  const findings = await examine(flags);
  const exitCode = findings.some(({ level }) => level === "fail") ? 1 : 0;
  const text = flags.json ? `${JSON.stringify({ findings }, null, 2)}\n` : findingsText(findings);
  return { text, exitCode };
}

/** The diagnoses that stay until an operator acts. */
const NEEDS_OPERATOR: ReadonlySet<Kind> = new Set(["refused", "wrong origin", "node deleted"]);

/** Checks the shim's status file. Not enrolled or unreadable state folder: no finding, as other checks report that. */
async function checkShim(state: string, nowMs: number): Promise<Finding[]> {
  let found: Awaited<ReturnType<typeof statusOf>>;
  try {
    found = await statusOf(state, nowMs);
  } catch {
    return [];
  }
  const { kind, text, cure } = found.diagnosis;
  if (kind === "not enrolled") return [];
  const pid = found.seen?.file.process.split(" ")[0];
  const message = found.seen?.isRunning ? `process ${pid}: ${text}` : text;
  const isShown = found.seen?.isRunning === true && kind !== "no socket";
  const transport = isShown && found.seen ? transportFindings(found.seen.file) : [];
  const others = [...transport, ...(found.seen?.isRunning ? versionFindings(found.seen.file) : [])];
  if (cure === undefined) return [ok("shim", message), ...others];
  const level = NEEDS_OPERATOR.has(kind) ? "fail" : "warn";
  return [{ check: "shim", level, message, todo: cure }, ...others];
}

const UPGRADE =
  "upgrade it as it was installed: from an apt repository by `node-shim upgrade`, once a rollout gives it the version, or by " +
  "apt-get install --only-upgrade rollcall-node-shim; else by install.sh again";

/** Returns a warning if the shim is older than the Worker: only then the last answer contains the Worker's version. */
function versionFindings({ shim, answer }: StatusFile): Finding[] {
  const { workerVersion } = answer ?? {};
  if (workerVersion === undefined) return [];
  return [warn("version", `this shim is ${shim}, and the Worker ${workerVersion}`, UPGRADE)];
}

/** The remedy for each condition. */
const TODO: Record<string, string> = {
  MemoryPressure: "free memory, or lower evictionHard and evictionSoft of memory.available",
  DiskPressure: "free disk space or inodes, or lower evictionHard and evictionSoft of nodefs and imagefs",
  PIDPressure: "end processes, or lower evictionHard and evictionSoft of pid.available",
  NetworkUnavailable:
    "no pod is scheduled until a route controller sets it False: leave the flag out if none runs",
  Ready: "see what the message names",
};

/** Checks the configuration, the sources and the conditions of the Node that this machine would have. */
async function checkNode(flags: MachineFlags): Promise<Finding[]> {
  const unread: Finding[] = [];
  const note = (source: string, message: string) => {
    const todo = TODO_OF_SOURCE[source] ?? SOURCE;
    unread.push({ ...warn("<source>", message, todo), check: source });
  };
  let previewed: InitialNode;
  try {
    previewed = await previewNode(flags, note);
  } catch (error) {
    return [fail("configuration", faultOf(error), "`node-shim config` shows where each value came from")];
  }
  const version = process.versions.node;
  return [
    ok("node", `Node.js ${version}`),
    ...(unread.some(({ check }) => check === "configuration") ? [] : [ok("configuration", "valid")]),
    ...unread,
    ...nodeFindings(previewed),
  ];
}

const SOURCE =
  "the Node lacks everything that depends on it; `node-shim facts` shows the facts that were read";

/** The remedies for warnings whose source is no file or program. */
const TODO_OF_SOURCE: Readonly<Record<string, string>> = {
  configuration: "remove them, or keep them for a kubelet",
  "pinned keys": PINNED_KEYS_TODO,
  questions: "correct the file, then restart the service",
  facts: "correct the value at its source, which `node-shim facts` shows",
  report: "set nodeStatusMaxImages, or report fewer or shorter facts of drop-ins",
};

export function nodeFindings({ node, errors }: InitialNode): Finding[] {
  const findings = errors.map((error) => warn("Node", error, SOURCE));
  for (const { type, status, message = "" } of node.status?.conditions ?? []) {
    const isGood = (status === "True") === (type === "Ready");
    if (isGood && message.startsWith(NOT_MEASURED))
      findings.push({ ...warn("<condition>", message, SOURCE), check: type });
    else if (isGood) findings.push({ ...ok("<condition>", message), check: type });
    else findings.push({ ...warn("<condition>", message, TODO[type] ?? "see what sets it"), check: type });
  }
  return findings;
}
