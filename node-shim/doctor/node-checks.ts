// Checks the Node that this machine would have: configuration, sources, conditions. Sends nothing.
import { faultOf } from "../base/fault.ts";
import type { MachineFlags } from "../machine/settings.ts";
import { previewNode } from "../machine/preview-node.ts";
import type { InitialNode } from "../../shared/node/initial-node.ts";
import { fail, type Finding, ok, warn } from "./finding.ts";

const TODO: Record<string, string> = {
  MemoryPressure: "free memory, or lower evictionHard and evictionSoft of memory.available",
  DiskPressure: "free disk space or inodes, or lower evictionHard and evictionSoft of nodefs and imagefs",
  PIDPressure: "end processes, or lower evictionHard and evictionSoft of pid.available",
  NetworkUnavailable:
    "nothing takes pods until a route controller sets it False: leave it off where none runs",
  Ready: "see what the message names",
};

export async function checkNode(flags: MachineFlags): Promise<Finding[]> {
  const unread: Finding[] = [];
  const note = (source: string, message: string) => {
    const todo = source === "configuration" ? "remove them, or keep them for a kubelet" : SOURCE;
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

const SOURCE = "the Node lacks what depends on it; `node-shim facts` shows what there is";

/** Findings from the conditions of a Node, for people who set up a machine. */
export function nodeFindings({ node, errors }: InitialNode): Finding[] {
  const findings = errors.map((error) => warn("Node", error, SOURCE));
  for (const { type, status, message = "" } of node.status?.conditions ?? []) {
    const isGood = (status === "True") === (type === "Ready");
    if (isGood) findings.push({ ...ok("<condition>", message), check: type });
    else findings.push({ ...warn("<condition>", message, TODO[type] ?? "see who sets it"), check: type });
  }
  return findings;
}
