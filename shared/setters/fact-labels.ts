// Setter: labels that follow from a machine's facts and change with them. Sets no label that others decide about.
import type { DraftNode, Setter } from "./setter.ts";

/** Which labels the setter has set: those go again, and no other. Keys, sorted, separated by commas. */
const FACT_LABELS_ANNOTATION = "rollcall.dev/fact-labels";

export function factLabels(
  wanted: Readonly<Record<string, string>>, // typically those of the inventory and the drop-ins
  mayBeSet: (key: string) => boolean, // what the annotation may make go; somebody else may have written it
): Setter {
  return (node: DraftNode) => {
    const { [FACT_LABELS_ANNOTATION]: listed = "", ...annotations } = node.metadata.annotations ?? {};
    const keys = Object.keys(wanted).sort();
    if (listed === "" && keys.length === 0) return null;
    const gone = new Set(listed.split(",").filter((key) => !(key in wanted) && mayBeSet(key)));
    const kept = Object.entries(node.metadata.labels ?? {}).filter(([key]) => !gone.has(key));
    node.metadata.labels = { ...Object.fromEntries(kept), ...wanted };
    const now = keys.join(",");
    node.metadata.annotations = now === "" ? annotations : { ...annotations, [FACT_LABELS_ANNOTATION]: now };
    return null;
  };
}
