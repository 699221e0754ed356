// Makes our Nodes with the product's own code. A remedy is a part of a Node without which other programs decide wrong.
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { NOTHING_REMEMBERED } from "../../shared/from-report/reported-status.ts";
import { reportedInitialNode } from "../../shared/from-report/reported-node.ts";
import type { DraftNode } from "../../shared/setters/setter.ts";
import { cordon, ownSetters } from "../../shared/node/bystander.ts";
import { QUEUE_LABEL } from "../../shared/node/ownership.ts";
import { setNodeStatus } from "../../shared/node/update-node.ts";

/** The kinds of our Nodes. `old`: without any remedy. The other kinds lack one remedy, or have an additional one. */
export type Kind = "ours" | "old" | "old without a zone" | "pass over" | "unschedulable" | "without a queue";

const GIB = 2 ** 30;
/** The address of each machine. No program in the experiments may connect to it. */
const ADDRESS = "192.0.2.10";

/** A configuration that requests labels of a zone and a region. */
const ZONE_LABELS = { "topology.kubernetes.io/zone": "edge-1", "topology.kubernetes.io/region": "edge" };

/** Returns the facts of a machine with 64 cores, 256 GiB and two GPUs. */
function machineFacts(name: string, nodeLabels: Record<string, string>): Facts {
  return {
    settings: {
      hostname: name,
      nodeStatusUpdateFrequencyMs: 10_000,
      nodeStatusReportFrequencyMs: 300_000,
      nodeLeaseDurationSeconds: 40,
      registerWithTaints: null,
      maxPods: 110,
      nodeLabels,
    },
    platform: { os: "linux", architecture: "amd64" },
    machine: {
      machineID: "5f0a3f6d1c8e4f0f9a3f0a3f6d1c8e4f",
      systemUUID: "3c9d7e52-6f1b-4f0e-9f57-21d0c7a4be11",
      bootID: "b0f5d6de-22a1-4a53-8d1c-0f3c1de35a9f",
      cores: 64,
      memoryBytes: 256 * GIB,
      swapBytes: 0,
      hugePages: [],
    },
    versions: { kernel: "6.1.0-40-amd64", osImage: "Debian GNU/Linux 12 (bookworm)" },
    runtime: null,
    addresses: { nodeIPs: [ADDRESS], lookup: [], onInterface: [ADDRESS], defaultRoute: {} },
    storage: { nodefsCapacityBytes: 500 * GIB },
    volumes: { synced: true, inUse: [] },
    devices: { capacity: { "nvidia.com/gpu": 2 }, allocatable: { "nvidia.com/gpu": 2 }, removed: [] },
  };
}

const VITALS: Vitals = {
  signals: {
    "memory.available": [200 * GIB, 256 * GIB],
    "nodefs.available": [400 * GIB, 500 * GIB],
    "nodefs.inodesFree": [6_000_000, 6_500_000],
    "imagefs.available": [400 * GIB, 500 * GIB],
    "imagefs.inodesFree": [6_000_000, 6_500_000],
    "pid.available": [30_000, 32_768],
  },
};

/** Returns the Ready Node that the Worker would create. Throws if the product's code reports an error. */
export function ourNode(name: string, kind: Kind, nowMs: number): DraftNode {
  const grant = { withoutFactsOnlyTaint: false };
  const reported = {
    name,
    facts: machineFacts(name, kind === "old without a zone" ? {} : ZONE_LABELS),
    vitals: VITALS,
    nowMs,
    memory: structuredClone(NOTHING_REMEMBERED),
    recordEvent: () => undefined,
  };
  const initial = reportedInitialNode(reported, grant);
  if (!initial.ok) throw new Error(initial.error);
  const { node, errors } = initial.value;
  const marks = { deployment: "neighbours", roles: [], isPassedOver: kind === "pass over" };
  const form = kind === "old" || kind === "old without a zone" ? "kubelet" : "moved";
  errors.push(...setNodeStatus(node, ownSetters({ enrolment: grant, marks }, "rollcall.neighbours", form)));
  if (errors.length > 0) throw new Error(errors.join("; "));
  if (kind === "unschedulable") cordon(node);
  if (kind === "without a queue") delete node.metadata.labels?.[QUEUE_LABEL];
  return node;
}
