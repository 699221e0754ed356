// Setters of labels: those that a Node always has, and those that it has for as long as somebody says so, which an
// annotation lists. What is set is what is said; whose value stays, parts.ts decides.
import { listedIn, replaceListed } from "./listed.ts";
import type { DraftNode, Setter } from "./setter.ts";

type Labels = Readonly<Record<string, string>>;

/** Sets what is missing or other. They never go. */
export function permanentLabels(wanted: Labels): Setter {
  const entries = Object.entries(wanted);
  return (node) => {
    if (!areSet(node, entries)) setLabels(node, entries, []);
    return null;
  };
}

export interface ListedLabels {
  /** The annotation that lists the keys, so that a label goes when nobody says it any more. */
  annotation: string;
  wanted: Labels;
  /** May it be removed? Somebody else may have written the annotation. */
  mayBeRemoved: (key: string, node: DraftNode) => boolean;
  /** Is it unknown whether it is still said? Then a listed label stays as it is, and listed. */
  isUndecided?: (key: string) => boolean;
}

/** Sets and lists what is wanted, and removes what is listed and no longer wanted. */
export function listedLabels({ annotation, wanted, mayBeRemoved, isUndecided }: ListedLabels): Setter {
  const entries = Object.entries(wanted);
  const list = Object.keys(wanted).sort().join(",");
  return (node) => {
    // True of almost every report.
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

/** Where nothing changes the labels stay the same object, which later steps compare first. */
function setLabels(node: DraftNode, entries: Entries, gone: readonly string[]): void {
  const { labels = {} } = node.metadata;
  if (areSet(node, entries) && !gone.some((key) => Object.hasOwn(labels, key))) return;
  const kept = Object.entries(labels).filter(([key]) => !gone.includes(key));
  node.metadata.labels = { ...Object.fromEntries(kept), ...Object.fromEntries(entries) };
}
