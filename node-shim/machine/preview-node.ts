// Computes the Node that this machine would have, with the setters that the Worker runs.
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { wallMs } from "../base/clock.ts";
import type { InitialNode } from "../../shared/node/initial-node.ts";
import { bystander } from "../../shared/node/bystander.ts";
import type { ResourceList } from "../../shared/kubernetes/types.ts";
import { ownLabels } from "../../shared/node/own-labels.ts";
import { withinGrant } from "../../shared/from-report/within-grant.ts";
import { NARROW } from "../../shared/protocol/join-tokens.ts";
import { setNodeStatus } from "../../shared/node/update-node.ts";
import { reportedInitialNode } from "../../shared/from-report/reported-node.ts";
import { NOTHING_REMEMBERED } from "../../shared/from-report/reported-status.ts";
import type { Warn } from "../base/reading.ts";
import { thisMachine } from "./machine.ts";
import { type MachineFlags } from "./settings.ts";

interface PreviewedNode extends InitialNode {
  /** The resources that a kubelet would offer to pods. */
  allocatable: ResourceList;
  /** The parts that the Worker leaves out of the Node if the join token has no limits of its own. */
  leftOut: readonly string[];
}

/** Returns the Node and setter errors, and warns of unreadable sources. Throws, with the setting, for invalid flags. */
export async function previewNode(flags: MachineFlags, warn: Warn): Promise<PreviewedNode> {
  // Skips the inventory without --inventory-labels: reading it takes seconds, and only its labels are in the Node.
  const seen = flags.inventoryLabels ? flags : { ...flags, inventory: "off" };
  const machine = await thisMachine(seen, warn);
  await machine.setUp();
  const { facts, vitals } = await machine.gather("wait").finally(machine.close);
  const initial = nodeOf(machine.name, facts, vitals, wallMs());
  if (!initial.ok) throw new Error(initial.error);
  const { allocatable = {} } = initial.value.node.status;
  const leftOut = withinGrant(undefined, structuredClone(initial.value.node), facts, {
    name: machine.name,
    grant: { withoutFactsOnlyTaint: false, ...NARROW },
    fieldManager: "",
    isOtherNode: () => false,
  });
  // Removes the deployment's labels: only the Worker knows the deployment and the Node's roles.
  setNodeStatus(initial.value.node, [ownLabels(null, []), bystander(false, "moved")]);
  return { ...initial.value, allocatable, leftOut };
}

/** Returns the Node that the Worker's setters make of a machine's facts and vitals. */
export function nodeOf(name: string, facts: Facts, vitals: Vitals, nowMs: number) {
  const memory = structuredClone(NOTHING_REMEMBERED);
  const reported = { name, facts, vitals, nowMs, memory, recordEvent: () => undefined };
  return reportedInitialNode(reported, { withoutFactsOnlyTaint: false });
}
