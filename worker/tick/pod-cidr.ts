// Remembers the range of pods that the cluster has given the Node, and writes history when it changes. Nothing here uses
// it: where a CNI plugin or a router of the machine's does, its operator sees when the range was another one.
import type { Node } from "../../shared/kubernetes/types.ts";
import { type Result, success } from "../../shared/result.ts";
import type { TickContext } from "./context.ts";

/** Upstream Kubelet.updatePodCIDR, for a Node that has a range: is it new? Stores nothing. */
export function isNewPodCIDR({ records }: Pick<TickContext, "records">, podCIDRs: string): Result<boolean> {
  return success(podCIDRs !== records.get("podCIDRs"));
}

/** Call it with each decision. A Node without a range keeps what is remembered, as a kubelet does. */
export function recordPodCIDR(
  { records, journal }: Pick<TickContext, "records" | "journal">,
  { spec }: Node,
  nowMs: number,
): void {
  const podCIDRs = (spec?.podCIDRs ?? []).join(",");
  const before = records.get("podCIDRs");
  if (podCIDRs === "" || podCIDRs === before) return;
  records.put("podCIDRs", podCIDRs);
  journal.note("address", `pod CIDR: ${before === undefined ? "" : `${before} → `}${podCIDRs}`, nowMs);
}
