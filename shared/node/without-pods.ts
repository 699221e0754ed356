// Setter: no pods for a machine without a kubelet, also where somebody removes its taint. Its capacity still says how many
// there could be.
import { isSameTaint } from "./initial-node.ts";
import { FACTS_ONLY_TAINT } from "./ownership.ts";
import type { Setter } from "../setters/setter.ts";

/** Runs after machineInfo, which computes upstream's number anew each time. */
export function withoutPods(
  mayGoWithoutTaint: boolean, // what the machine's join token says
): Setter {
  return (node) => {
    const isTainted = node.spec.taints?.some((taint) => isSameTaint(taint, FACTS_ONLY_TAINT)) ?? false;
    if (mayGoWithoutTaint && !isTainted) return null;
    const { allocatable } = node.status;
    if (allocatable?.["pods"] !== undefined) node.status.allocatable = { ...allocatable, pods: "0" };
    return null;
  };
}
