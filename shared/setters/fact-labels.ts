// Setters: labels from a machine's facts. They set no label of another writer.
import { listedIn } from "./listed.ts";
import { listedLabels } from "./listed-labels.ts";
import type { Setter } from "./setter.ts";

/** The annotation that lists the labels of hardware and drop-ins. */
export const FACT_LABELS_ANNOTATION = "rollcall.dev/fact-labels";
/** The annotation that lists the labels of the configuration and the cloud. */
export const NODE_LABELS_ANNOTATION = "rollcall.dev/node-labels";

/** Sets the labels of hardware and drop-ins. */
export function factLabels(
  wanted: Readonly<Record<string, string>>,
  mayBeRemoved: (key: string) => boolean, // false for other writers' labels: another writer may have changed the annotation
): Setter {
  return listedLabels({ annotation: FACT_LABELS_ANNOTATION, wanted, mayBeRemoved });
}

/** Sets the labels of the configuration and the cloud. Runs after factLabels, and does not change its labels. */
export function nodeLabels(
  wanted: Readonly<Record<string, string>>, // without those of factLabels
  mayBeRemoved: (key: string) => boolean, // as above
  isUndecided: (key: string) => boolean, // typically the cloud's labels, while its metadata cannot be read
): Setter {
  return listedLabels({
    annotation: NODE_LABELS_ANNOTATION,
    wanted,
    mayBeRemoved: (key, node) => mayBeRemoved(key) && !listedIn(node, FACT_LABELS_ANNOTATION).includes(key),
    isUndecided,
  });
}
