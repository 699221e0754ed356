// Defines the arguments and results of the checks of rollcall impact.
import type { ClusterObjects } from "./cluster-objects.ts";
import type { MachineNode } from "./machine-node.ts";

/** `breaks`: something that works now stops. `costs`: more work, money or alerts. `note`: worth knowing. */
export const SEVERITIES = ["breaks", "costs", "note"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** A finding without the name of its check. */
export interface Found {
  severity: Severity;
  /** The affected object, like `DaemonSet kube-system/agent` or `Nodes`. */
  object: string;
  consequence: string;
  remedy: string;
  /** The address of upstream's description of the problem. */
  link?: string;
}

export interface Finding extends Found {
  /** The name of the check that made the finding, for programs, like `daemon-sets`. */
  check: string;
}

/** The Nodes that the operator wants to add. */
export interface Plan {
  /** The number of Nodes to add. */
  machines: number;
  /** An example of the Nodes to add. */
  node: MachineNode;
}

/** A check for one kind of hazard. */
export interface Check {
  name: string;
  /** The objects that the check reads, as text for docs/rollcall.md. `follows` is the consequence of a finding. */
  reads: string;
  follows: string;
  find: (cluster: ClusterObjects, plan: Plan) => Found[];
}
