// Which Nodes a deployment may write, and how they are marked. Writes nothing.
import type { Node, Taint } from "../kubernetes/types.ts";

/** Its value is the deployment that created or adopted the Node. */
export const OWNER_ANNOTATION = "rollcall.dev/owner";
/** Every Node of ours has it, with an empty value: selectors and affinities tell by it that no kubelet is there. */
export const MACHINE_LABEL = "rollcall.dev/machine";
/** The owner once more, since selectors do not read annotations. Whose Node it is, the annotation decides. */
export const DEPLOYMENT_LABEL = "rollcall.dev/deployment";
/** A machine without a kubelet must not be given traffic that a load balancer spreads over Nodes. */
export const NO_LOAD_BALANCER_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";
/** A machine without a kubelet must not be given pods. */
export const FACTS_ONLY_TAINT: Taint = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };

/** Why this deployment may not write the Node; null: it may. */
export function ownershipFault(existing: Node, deployment: string): string | null {
  const owner = existing.metadata?.annotations?.[OWNER_ANNOTATION];
  if (owner === deployment) return null;
  return owner === undefined
    ? "a Node of this name exists that is not rollcall's"
    : `the Node belongs to ${owner}`;
}
