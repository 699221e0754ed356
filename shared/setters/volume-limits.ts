// Sets the attach limit of each kind of volume. Kubelets since 1.17 write the limits into CSINode instead.
import { newQuantity } from "../kubernetes/quantity/quantity.ts";
import { quantityText } from "../kubernetes/quantity/text.ts";
import type { Setter } from "./setter.ts";
import type { Result } from "../result.ts";

/** The limit of one volume plugin, by resource name: `{ "attachable-volumes-csi-ebs.csi.aws.com": 25 }`. */
export type VolumeLimits = Readonly<Record<string, number>>;

/** Returns the setter of the attach limits (upstream nodestatus.VolumeLimits of 1.16). A failed plugin is skipped. */
export function volumeLimits(
  volumePluginLimits: () => readonly Result<VolumeLimits>[], // typically CSI's NodeGetInfo of each plugin
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
