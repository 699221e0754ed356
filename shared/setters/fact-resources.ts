// Sets the extended resources of drop-ins. The setter machineInfo sets the resources of device plugins.
import { newQuantity } from "../kubernetes/quantity/quantity.ts";
import { quantityText } from "../kubernetes/quantity/text.ts";
import { isExtendedResourceName } from "../kubernetes/resource-names.ts";
import type { ResourceList } from "../kubernetes/types.ts";
import { replaceListed } from "./listed.ts";
import type { Setter } from "./setter.ts";

export const FACT_RESOURCES_ANNOTATION = "rollcall.dev/fact-resources";

/** Returns the setter of the drop-ins' resources. A resource that is no longer announced becomes 0 and stays. */
export function factResources(
  wanted: Readonly<Record<string, number>>, // typically the resources of the drop-ins
  devices: readonly string[], // the names of device plugins' resources, which take precedence
): Setter {
  return (node) => {
    const mine = Object.entries(wanted).filter(([name]) => !devices.includes(name));
    const names = mine.map(([name]) => name);
    const gone = replaceListed(node, FACT_RESOURCES_ANNOTATION, names).filter(
      (name) => isExtendedResourceName(name) && !devices.includes(name),
    );
    const counts = [...gone.map((name): [string, number] => [name, 0]), ...mine];
    if (counts.length === 0) return null;
    const list: ResourceList = {};
    for (const [name, count] of counts) list[name] = quantityText(newQuantity(count, "DecimalSI"));
    node.status.capacity = { ...node.status.capacity, ...list };
    node.status.allocatable = { ...node.status.allocatable, ...list };
    return null;
  };
}
