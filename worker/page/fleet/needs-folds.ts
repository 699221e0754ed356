// Which groups of what needs somebody are open. Pure.
import type { NeedsGroup, NeedsKind } from "./needs-list.ts";

export type Folds = ReadonlyMap<NeedsKind, boolean>;

/** How many lines of open groups there may be before those behind them begin closed. */
const LINES_AT_FIRST = 16;

/** Also of groups that are seen for the first time; what was decided before stays, whatever comes. */
export function withFirstFolds(groups: readonly NeedsGroup[], decided: Folds): Folds {
  if (groups.every(({ kind }) => decided.has(kind))) return decided;
  const all = new Map(decided);
  let lines = 0;
  for (const group of groups) {
    const own = linesOf(group);
    if (!all.has(group.kind)) all.set(group.kind, lines === 0 || lines + own <= LINES_AT_FIRST);
    if (all.get(group.kind)) lines += own;
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
