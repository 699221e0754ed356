// Handles the table's keyboard shortcuts: move between rows, select, search.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { KeyBinding } from "../base/keys.ts";
import { usePage } from "../page.ts";
import { SEARCH_ID } from "./search-field.tsx";

interface TableKeys {
  body: RefObject<HTMLElement | null>;
  /** The number of rows. */
  count: number;
  /** Selects a row. undefined if rows cannot be selected. */
  toggle: ((index: number) => void) | undefined;
}

export function useTableKeys({ body, count, toggle }: TableKeys): void {
  const { viewKeys } = usePage();
  const wanted = useRef<number>(null);
  const current = useRef({ count, toggle });
  current.current = { count, toggle };
  const linkOf = (index: number) =>
    body.current?.querySelector<HTMLElement>(`tr[data-index="${index}"] .fleet-link`);
  /** A distant row has no link until the table has scrolled to it; the link then gets the focus. */
  const focusWanted = () => {
    const link = wanted.current === null ? null : linkOf(wanted.current);
    if (!link) return;
    wanted.current = null;
    link.focus();
  };
  useLayoutEffect(focusWanted);
  useLayoutEffect(() => {
    const goTo = (index: number) => {
      wanted.current = Math.min(current.current.count - 1, Math.max(0, index));
      if (!linkOf(wanted.current)) body.current?.scrollIntoView({ block: index <= 0 ? "start" : "end" });
      focusWanted();
    };
    const step = (by: number) => {
      const at = rowAt(document.activeElement);
      goTo(at === null ? firstSeen(body.current) : at + by);
    };
    const act = (run: (row: HTMLElement, index: number) => void) => () => {
      const row = document.activeElement?.closest<HTMLElement>("tr[data-index]");
      if (row) run(row, Number(row.dataset["index"]));
    };
    const keys: KeyBinding[] = [
      { key: "/", does: "to the search", run: () => document.getElementById(SEARCH_ID)?.focus() },
      { key: "j", does: "to the next row", run: () => step(1) },
      { key: "k", does: "to the row before", run: () => step(-1) },
      { key: "g", does: "to the first row", run: () => goTo(0) },
      { key: "G", does: "to the last row", run: () => goTo(current.current.count - 1) },
      {
        key: "o",
        does: "opens the row’s machine, as Enter does",
        run: act((row) => row.querySelector<HTMLElement>(".fleet-link")?.click()),
      },
      {
        key: "x",
        does: "selects the row",
        run: act((_, index) => current.current.toggle?.(index)),
      },
    ];
    viewKeys.value = toggle ? keys : keys.filter(({ key }) => key !== "x");
    return () => {
      viewKeys.value = [];
    };
  }, [toggle === undefined]);
}

function rowAt(element: Element | null): number | null {
  const index = element?.closest<HTMLElement>("tr[data-index]")?.dataset["index"];
  return index === undefined ? null : Number(index);
}

/** Returns the index of the first row on the screen, below the table's head. */
function firstSeen(body: HTMLElement | null): number {
  const top = document.querySelector(".fleet-head")?.getBoundingClientRect().bottom ?? 0;
  const rows = [...(body?.querySelectorAll<HTMLElement>("tr[data-index]") ?? [])];
  const first = rows.find((row) => row.getBoundingClientRect().top >= top - 1);
  return rowAt(first ?? null) ?? 0;
}
