// Setters: labels that follow from a machine's facts and change with them. They set no label that others decide about.
import { listedIn } from "./listed.ts";
import { listedLabels } from "./listed-labels.ts";
import type { Setter } from "./setter.ts";

/** Lists those of hardware and drop-ins. */
export const FACT_LABELS_ANNOTATION = "rollcall.dev/fact-labels";
/** Lists those of the configuration and the cloud. */
export const NODE_LABELS_ANNOTATION = "rollcall.dev/node-labels";

/** Those of hardware and drop-ins. */
export function factLabels(
  wanted: Readonly<Record<string, string>>,
  mayBeRemoved: (key: string) => boolean, // with the facts? Somebody else may have written the annotation
): Setter {
  return listedLabels({ annotation: FACT_LABELS_ANNOTATION, wanted, mayBeRemoved });
}

/** Those of the configuration and the cloud. Runs after factLabels, whose labels it leaves alone. */
export function nodeLabels(
  wanted: Readonly<Record<string, string>>, // without those of factLabels
  mayBeRemoved: (key: string) => boolean, // as above
  isUndecided: (key: string) => boolean, // typically a cloud's, while its metadata cannot be read
): Setter {
  return listedLabels({
    annotation: NODE_LABELS_ANNOTATION,
    wanted,
    mayBeRemoved: (key, node) => mayBeRemoved(key) && !listedIn(node, FACT_LABELS_ANNOTATION).includes(key),
    isUndecided,
  });
}
