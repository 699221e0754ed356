// What a check of rollcall impact reports, and what it decides from. Decides nothing.
import type { ClusterObjects } from "./cluster-objects.ts";
import type { MachineNode } from "./machine-node.ts";

/** `breaks`: something that works now stops; `costs`: more work, money or alerts; `note`: worth knowing. */
export const SEVERITIES = ["breaks", "costs", "note"] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface Finding {
  /** The check's name, for programs: `daemon-sets`. */
  check: string;
  severity: Severity;
  /** `DaemonSet kube-system/agent`, `Nodes` */
  object: string;
  consequence: string;
  remedy: string;
  /** The upstream's own description. */
  link?: string;
}

/** What the operator means to add. */
export interface Plan {
  /** How many Nodes. */
  machines: number;
  /** One of them. */
  node: MachineNode;
}

/** One hazard: pure, from what was read to findings. */
export interface Check {
  name: string;
  /** For docs/rollcall.md: what the check reads, and what follows where it finds something. */
  reads: string;
  follows: string;
  find: (cluster: ClusterObjects, plan: Plan) => Finding[];
}

export type Found = Omit<Finding, "check">;

/** Gives each finding its check's name. */
export function check(
  name: string,
  { reads, follows }: Pick<Check, "reads" | "follows">,
  find: (cluster: ClusterObjects, plan: Plan) => Found[],
): Check {
  return {
    name,
    reads,
    follows,
    find: (...given) => find(...given).map((found) => ({ check: name, ...found })),
  };
}
