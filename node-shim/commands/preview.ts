// node-shim preview: the Node that this machine would be, made by the setters that the Worker runs. Offline.
import { stringify } from "yaml";
import { reportedInitialNode } from "../../shared/from-report/reported-node.ts";
import { NOTHING_REMEMBERED } from "../../shared/from-report/reported-status.ts";
import type { Warn } from "../base/warn.ts";
import { type MachineFlags, thisMachine } from "../machine/machine.ts";

export type PreviewedNode = Exclude<ReturnType<typeof reportedInitialNode>, { error: string }>;

/** YAML, as `kubectl get node -o yaml` shows a Node right after its registration; what the apiserver adds is absent. */
export async function preview(flags: MachineFlags): Promise<string> {
  const say = (message: string) => console.error(`node-shim: ${message}`);
  const { node, errors } = await previewNode(flags, (source, message) => say(`${source}: ${message}`));
  for (const error of errors) say(error);
  return stringify({ apiVersion: "v1", kind: "Node", ...node });
}

/** The Node, and what its setters could not set. `warn` hears of what could not be read. Throws as thisMachine does. */
export async function previewNode(flags: MachineFlags, warn: Warn): Promise<PreviewedNode> {
  // Looking at the hardware takes its time, and only its labels are in a Node.
  const seen = flags.inventoryLabels ? flags : { ...flags, inventory: "off" };
  const machine = await thisMachine(seen, warn);
  await machine.setUp();
  const { facts, vitals } = await machine.gather("wait").finally(machine.close);
  const reported = {
    name: machine.name,
    facts,
    vitals,
    nowMs: Date.now(),
    memory: structuredClone(NOTHING_REMEMBERED),
    recordEvent: () => undefined,
  };
  const initial = reportedInitialNode(reported, { withoutFactsOnlyTaint: false });
  if ("error" in initial) throw new Error(initial.error);
  return initial;
}
