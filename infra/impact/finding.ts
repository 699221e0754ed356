// The arguments and results of the checks of rollcall impact.
import type { ClusterObjects } from "./cluster-objects.ts";
import type { MachineNode } from "./machine-node.ts";

/** `breaks`: something that works now stops; `costs`: more work, money or alerts; `note`: worth knowing. */
export const SEVERITIES = ["breaks", "costs", "note"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** A finding before it has its check's name. */
export interface Found {
  severity: Severity;
  /** `DaemonSet kube-system/agent`, `Nodes` */
  object: string;
  consequence: string;
  remedy: string;
  /** Upstream's description. */
  link?: string;
}

export interface Finding extends Found {
  /** The check's name, for programs: `daemon-sets`. */
  check: string;
}

/** The Nodes that the operator wants to add. */
export interface Plan {
  /** The number of Nodes. */
  machines: number;
  /** One of them. */
  node: MachineNode;
}

/** Finds one kind of hazard. */
export interface Check {
  name: string;
  /** For docs/rollcall.md: the objects that the check reads, and the consequence of a finding. */
  reads: string;
  follows: string;
  find: (cluster: ClusterObjects, plan: Plan) => Found[];
}
