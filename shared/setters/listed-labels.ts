// Setters of labels: those that a Node always has, and those that come from changing facts, which an annotation lists.
// parts.ts decides between the values of several writers.
import { listedIn, replaceListed } from "./listed.ts";
import type { DraftNode, Setter } from "./setter.ts";

type Labels = Readonly<Record<string, string>>;

/** Sets labels that are missing or different. They are never removed. */
export function permanentLabels(wanted: Labels): Setter {
  const entries = Object.entries(wanted);
  return (node) => {
    if (!areSet(node, entries)) setLabels(node, entries, []);
    return null;
  };
}

export interface ListedLabels {
  /** The annotation that lists the keys, so that a label without a source is removed. */
  annotation: string;
  wanted: Labels;
  /** May the setter remove this label? Another writer may have changed the annotation. */
  mayBeRemoved: (key: string, node: DraftNode) => boolean;
  /** Is the label's source unreadable now? A listed label then stays, and stays listed. */
  isUndecided?: (key: string) => boolean;
}

/** Sets and lists the wanted labels, and removes listed ones that are no longer wanted. */
export function listedLabels({ annotation, wanted, mayBeRemoved, isUndecided }: ListedLabels): Setter {
  const entries = Object.entries(wanted);
  const list = Object.keys(wanted).sort().join(",");
  return (node) => {
    // This is true for almost every report.
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

/** Unchanged labels stay the same object, since later steps compare objects first. */
function setLabels(node: DraftNode, entries: Entries, gone: readonly string[]): void {
  const { labels = {} } = node.metadata;
  if (areSet(node, entries) && !gone.some((key) => Object.hasOwn(labels, key))) return;
  const kept = Object.entries(labels).filter(([key]) => !gone.includes(key));
  node.metadata.labels = { ...Object.fromEntries(kept), ...Object.fromEntries(entries) };
}
