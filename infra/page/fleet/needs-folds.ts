// Which groups of what needs somebody are open. Pure.
import type { NeedsGroup, NeedsKind } from "./needs-list.ts";

export type Folds = ReadonlyMap<NeedsKind, boolean>;

/** Of open groups, before which the others begin closed: the table is not to be far below. */
const LINES_AT_FIRST = 12;

/** Also of groups that are seen for the first time; what was decided before stays, whatever comes. */
export function withFirstFolds(groups: readonly NeedsGroup[], decided: Folds): Folds {
  if (groups.every(({ kind }) => decided.has(kind))) return decided;
  const all = new Map(decided);
  let lines = 0;
  for (const group of groups) {
    const before = lines;
    lines += linesOf(group);
    if (!all.has(group.kind)) all.set(group.kind, before === 0 || lines <= LINES_AT_FIRST);
  }
  return all;
}

const linesOf = (group: NeedsGroup) => ("entries" in group ? group.entries.length : 1);

/** What somebody has chosen, as a text that a browser keeps: `blocked=open silent=closed`. */
export function foldsText(folds: Folds): string {
  return [...folds].map(([kind, isOpen]) => `${kind}=${isOpen ? "open" : "closed"}`).join(" ");
}

/** What cannot be read was not chosen. */
export function foldsOf(text: string, kinds: readonly NeedsKind[]): Folds {
  const words = text.split(" ");
  const folds = new Map<NeedsKind, boolean>();
  for (const kind of kinds) {
    if (words.includes(`${kind}=open`)) folds.set(kind, true);
    else if (words.includes(`${kind}=closed`)) folds.set(kind, false);
  }
  return folds;
}
