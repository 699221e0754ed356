// Setter: the attach limit of each kind of volume. Kubelets since 1.17 have it in CSINode.
import { newQuantity } from "../kubernetes/quantity/quantity.ts";
import { quantityText } from "../kubernetes/quantity/text.ts";
import type { Setter } from "./setter.ts";
import type { Result } from "../result.ts";

/** The limit of one volume plugin, by resource name: `{ "attachable-volumes-csi-ebs.csi.aws.com": 25 }`. */
export type VolumeLimits = Readonly<Record<string, number>>;

/** The older nodestatus.VolumeLimits (1.16). Skips a plugin that fails. Of two equal names, the later one wins. */
export function volumeLimits(
  volumePluginLimits: () => readonly Result<VolumeLimits>[], // typically CSI NodeGetInfo of each plugin
): Setter {
  return (node) => {
    const limits: Record<string, string> = {};
    for (const plugin of volumePluginLimits()) {
      if (!plugin.ok) continue;
      for (const [resource, limit] of Object.entries(plugin.value)) {
        limits[resource] = quantityText(newQuantity(limit, "DecimalSI"));
      }
    }
    if (Object.keys(limits).length === 0) return null;
    node.status.capacity = { ...node.status.capacity, ...limits };
    node.status.allocatable = { ...node.status.allocatable, ...limits };
    return null;
  };
}
