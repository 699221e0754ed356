// The Node that this machine would be, made by the setters that the Worker runs. Nothing is sent.
import { wallMs } from "../base/clock.ts";
import type { InitialNode } from "../../shared/node/initial-node.ts";
import { bystander } from "../../shared/node/bystander.ts";
import type { ResourceList } from "../../shared/kubernetes/types.ts";
import { ownLabels } from "../../shared/node/own-labels.ts";
import { setNodeStatus } from "../../shared/node/update-node.ts";
import { reportedInitialNode } from "../../shared/from-report/reported-node.ts";
import { NOTHING_REMEMBERED } from "../../shared/from-report/reported-status.ts";
import type { Warn } from "../base/reading.ts";
import { thisMachine } from "./machine.ts";
import { type MachineFlags } from "./settings.ts";

interface PreviewedNode extends InitialNode {
  /** What a kubelet would let pods have. */
  allocatable: ResourceList;
}

/** The Node, and what its setters could not set. `warn` gets what could not be read. Throws as thisMachine does. */
export async function previewNode(flags: MachineFlags, warn: Warn): Promise<PreviewedNode> {
  // Reading the hardware takes seconds, and a Node has its labels alone.
  const seen = flags.inventoryLabels ? flags : { ...flags, inventory: "off" };
  const machine = await thisMachine(seen, warn);
  await machine.setUp();
  const { facts, vitals } = await machine.gather("wait").finally(machine.close);
  const reported = {
    name: machine.name,
    facts,
    vitals,
    nowMs: wallMs(),
    memory: structuredClone(NOTHING_REMEMBERED),
    recordEvent: () => undefined,
  };
  const initial = reportedInitialNode(reported, { withoutFactsOnlyTaint: false });
  if (!initial.ok) throw new Error(initial.error);
  const { allocatable = {} } = initial.value.node.status;
  // Only the Worker knows its deployment, and the roles.
  setNodeStatus(initial.value.node, [ownLabels(null, []), bystander(false, "moved")]);
  return { ...initial.value, allocatable };
}
