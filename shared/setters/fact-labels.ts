// Setter: labels that follow from a machine's facts and change with them. Sets no label that others decide about.
import { replaceListed } from "./listed.ts";
import type { Setter } from "./setter.ts";

export const FACT_LABELS_ANNOTATION = "rollcall.dev/fact-labels";

export function factLabels(
  wanted: Readonly<Record<string, string>>, // typically those of the inventory and the drop-ins
  mayBeSet: (key: string) => boolean, // may it be removed with the facts? Somebody else may have written the annotation
): Setter {
  return (node) => {
    const gone = replaceListed(node, FACT_LABELS_ANNOTATION, Object.keys(wanted)).filter(mayBeSet);
    if (gone.length === 0 && Object.keys(wanted).length === 0) return null;
    const kept = Object.entries(node.metadata.labels ?? {}).filter(([key]) => !gone.includes(key));
    node.metadata.labels = { ...Object.fromEntries(kept), ...wanted };
    return null;
  };
}
