// Which machines are chosen, by name: it lasts while the feed changes them, the order and the filter. Pure.
import type { FeedUpdate } from "../../../shared/fleet/feed-view.ts";

export type Selection = ReadonlySet<string>;

export const NOTHING_SELECTED: Selection = new Set();

export function toggled(selection: Selection, name: string): Selection {
  return withNames(selection, [name], !selection.has(name));
}

/** As `anchor` is, which was chosen or put away last, so is everything from there to `name`, as the rows stand. */
export function extended(
  selection: Selection,
  rows: readonly { name: string }[],
  anchor: string | null,
  name: string,
): Selection {
  const [one, other] = [
    rows.findIndex((row) => row.name === anchor),
    rows.findIndex((row) => row.name === name),
  ];
  if (anchor === null || one < 0 || other < 0) return toggled(selection, name);
  const range = rows.slice(Math.min(one, other), Math.max(one, other) + 1);
  return withNames(
    selection,
    range.map((row) => row.name),
    selection.has(anchor),
  );
}

export function withNames(selection: Selection, names: readonly string[], isChosen: boolean): Selection {
  const next = new Set(selection);
  for (const name of names) {
    if (isChosen) next.add(name);
    else next.delete(name);
  }
  return next;
}

/** Without those that have left the fleet; the same object where nobody has. */
export function withoutGone(selection: Selection, { gone }: FeedUpdate): Selection {
  return gone.some((name) => selection.has(name)) ? withNames(selection, gone, false) : selection;
}

/** How many of the rows are chosen: all of them, some, none. */
export function howMany(selection: Selection, rows: readonly { name: string }[]): "all" | "some" | "none" {
  if (selection.size === 0 || rows.length === 0) return "none";
  const chosen = rows.reduce((sum, { name }) => sum + Number(selection.has(name)), 0);
  if (chosen === 0) return "none";
  return chosen === rows.length ? "all" : "some";
}
