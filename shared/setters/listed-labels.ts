// Makes setters of labels: permanent labels, and labels of changing facts, which an annotation lists.
import { listedIn, replaceListed } from "./listed.ts";
import type { DraftNode, Setter } from "./setter.ts";

type Labels = Readonly<Record<string, string>>;

/** Returns a setter that sets labels which are missing or different. No label is ever removed. */
export function permanentLabels(wanted: Labels): Setter {
  const entries = Object.entries(wanted);
  return (node) => {
    if (!areSet(node, entries)) setLabels(node, entries, []);
    return null;
  };
}

export interface ListedLabels {
  /** The annotation that lists the labels' keys, so that a label is removed when its source is gone. */
  annotation: string;
  wanted: Labels;
  /** Returns true if the setter may remove this label: another writer may have changed the annotation. */
  mayBeRemoved: (key: string, node: DraftNode) => boolean;
  /** Returns true if the label's source cannot be read now. A listed label then stays in the Node and in the list. */
  isUndecided?: (key: string) => boolean;
}

/** Returns a setter that sets and lists the wanted labels, and removes listed labels that are no longer wanted. */
export function listedLabels({ annotation, wanted, mayBeRemoved, isUndecided }: ListedLabels): Setter {
  const entries = Object.entries(wanted);
  const list = Object.keys(wanted).sort().join(",");
  return (node) => {
    // The setter ends here for almost every report.
    const isListed = (node.metadata.annotations?.[annotation] ?? "") === list;
    if (isListed && areSet(node, entries)) return null;
    const undecided = isUndecided ? listedIn(node, annotation).filter(isUndecided) : [];
    const keys = [...new Set([...Object.keys(wanted), ...undecided])];
    const gone = replaceListed(node, annotation, keys).filter((key) => mayBeRemoved(key, node));
    setLabels(node, entries, gone);
    return null;
  };
}

type Entries = readonly (readonly [key: string, value: string])[];

function areSet({ metadata }: DraftNode, entries: Entries): boolean {
  return entries.every(([key, value]) => metadata.labels?.[key] === value);
}

/** Sets the labels. Unchanged labels stay the same object, because later steps first compare objects by identity. */
function setLabels(node: DraftNode, entries: Entries, gone: readonly string[]): void {
  const { labels = {} } = node.metadata;
  if (areSet(node, entries) && !gone.some((key) => Object.hasOwn(labels, key))) return;
  const kept = Object.entries(labels).filter(([key]) => !gone.includes(key));
  node.metadata.labels = { ...Object.fromEntries(kept), ...Object.fromEntries(entries) };
}
