// Sets labels from a machine's facts, but no label of another writer.
import { listedIn } from "./listed.ts";
import { listedLabels } from "./listed-labels.ts";
import type { Setter } from "./setter.ts";

/** The annotation that lists the labels of hardware and drop-ins. */
export const FACT_LABELS_ANNOTATION = "rollcall.dev/fact-labels";
/** The annotation that lists the labels of the configuration and the cloud. */
export const NODE_LABELS_ANNOTATION = "rollcall.dev/node-labels";

/** Returns a setter of the labels of hardware and drop-ins. */
export function factLabels(
  wanted: Readonly<Record<string, string>>,
  mayBeRemoved: (key: string) => boolean, // false for the labels of other writers, which may have changed the annotation
): Setter {
  return listedLabels({ annotation: FACT_LABELS_ANNOTATION, wanted, mayBeRemoved });
}

/** Returns a setter of the configuration's and the cloud's labels, to run after factLabels, whose labels stay. */
export function nodeLabels(
  wanted: Readonly<Record<string, string>>, // lacks the labels of factLabels
  mayBeRemoved: (key: string) => boolean, // false for the labels of other writers
  isUndecided: (key: string) => boolean, // typically true for the cloud's labels while its metadata cannot be read
): Setter {
  return listedLabels({
    annotation: NODE_LABELS_ANNOTATION,
    wanted,
    mayBeRemoved: (key, node) => mayBeRemoved(key) && !listedIn(node, FACT_LABELS_ANNOTATION).includes(key),
    isUndecided,
  });
}
