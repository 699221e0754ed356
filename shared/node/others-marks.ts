// What others have set on a Node that is created again: cordon and taints. Labels and annotations go with the Node.
import type { Node, Taint } from "../kubernetes/types.ts";
import type { DraftNode } from "../setters/setter.ts";
import { isSameTaint } from "./initial-node.ts";
import { FACTS_ONLY_TAINT } from "./ownership.ts";

/** Controllers set and remove them as conditions are; of the node lifecycle controller and its admission. */
const OF_CONDITIONS: ReadonlySet<string> = new Set([
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/memory-pressure",
  "node.kubernetes.io/disk-pressure",
  "node.kubernetes.io/pid-pressure",
  "node.kubernetes.io/network-unavailable",
  "node.cloudprovider.kubernetes.io/shutdown",
]);

/** Do controllers set and remove it as a condition is? */
export const isOfCondition = ({ key }: Taint): boolean => OF_CONDITIONS.has(key);

/**
 * Adds to `node`, which is about to be created, what the Node before it had when it was last seen. `ours`: what machine and
 * token have said of that one.
 */
export function keepOthersMarks(node: DraftNode, { spec = {} }: Node, ours: readonly Taint[]): void {
  const own = node.spec.taints ?? [];
  // Whether a new Node has this one, its machine and its join token say.
  const decided = [...own, ...ours, FACTS_ONLY_TAINT];
  const others = (spec.taints ?? []).filter(
    (taint) => !isOfCondition(taint) && !decided.some((each) => isSameTaint(each, taint)),
  );
  if (others.length > 0) node.spec.taints = [...own, ...others];
  if (spec.unschedulable) node.spec.unschedulable = true;
}
