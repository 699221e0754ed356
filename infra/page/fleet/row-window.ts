// Which rows of a long list are drawn: those that can be seen, and some around them. Pure: knows no document.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { watchPaper } from "../base/paper.ts";

/** Rows drawn beyond what can be seen, on either side: a quick turn of the wheel meets no gap. */
const OVERSCAN = 12;
/** The window moves by so many rows at a time: most steps of scrolling draw nothing. */
const STEP = 8;

export interface RowWindow {
  /** The first row that is drawn. */
  from: number;
  /** The first one that is not any more. */
  to: number;
}

/** `above`: how much of the list, in pixels, is above what can be seen; below 0: the list begins further down. */
export function rowWindow(list: {
  count: number;
  rowHeight: number;
  above: number;
  visible: number;
}): RowWindow {
  const { count, rowHeight, above, visible } = list;
  if (count === 0 || rowHeight <= 0) return { from: 0, to: 0 };
  const first = Math.floor(above / rowHeight) - OVERSCAN;
  const last = Math.ceil((above + Math.max(0, visible)) / rowHeight) + OVERSCAN;
  const from = Math.floor(first / STEP) * STEP;
  const to = Math.ceil(last / STEP) * STEP;
  // A list that has become shorter shows its end until it is scrolled.
  const latest = Math.max(0, count - (to - from));
  return { from: within(from, 0, latest), to: within(to, Math.min(count, to - from), count) };
}

function within(number: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, number));
}

/** More rows than these nobody reads on paper. */
const PAPER_ROWS = 1000;

/** On paper nobody scrolls: the first rows are on it. */
export function paperWindow(count: number): RowWindow {
  return { from: 0, to: Math.min(count, PAPER_ROWS) };
}

/** Rows of a numbered page. */
export const PAGE_ROWS = 100;

export function pageCount(count: number): number {
  return Math.max(1, Math.ceil(count / PAGE_ROWS));
}

/** The rows of this page, from 1; behind the last one, those of the last. */
export function pageWindow(count: number, page: number): RowWindow {
  const shown = within(page, 1, pageCount(count));
  return { from: (shown - 1) * PAGE_ROWS, to: Math.min(count, shown * PAGE_ROWS) };
}

/** The numbers to link to: the first, the last, and those around this one; null: some are left out. */
export function pageNumbers(count: number, page: number): (number | null)[] {
  const last = pageCount(count);
  const current = within(page, 1, last);
  const near = [1, current - 1, current, current + 1, last].filter((each) => each >= 1 && each <= last);
  const numbers = [...new Set(near)].sort((a, b) => a - b);
  return numbers.flatMap((number, at) => {
    const before = numbers[at - 1];
    return before !== undefined && number > before + 1 ? [null, number] : [number];
  });
}

// Which rows are near what can be seen of the table, as it or the page is scrolled. The arithmetic is in windowing.ts.

/** Until a row has been measured. */
const USUAL_ROW = 36;
const USUAL_VIEW = 900;

/** `body`: around the rows; `scroller`: what may be scrolled around it, beside the page itself. */
export function useRowWindow(
  body: RefObject<HTMLElement | null>,
  scroller: RefObject<HTMLElement | null>,
  count: number,
): RowWindow & { rowHeight: number } {
  const seen = useRef({ above: 0, visible: USUAL_VIEW, rowHeight: USUAL_ROW });
  const shown = useSignal({ from: 0, to: 0, rowHeight: USUAL_ROW });
  const rows = useRef(count);
  rows.current = count;
  const isPaper = useRef(matchMedia("print").matches);
  const windowOf = (count: number): RowWindow =>
    isPaper.current ? paperWindow(count) : rowWindow({ count, ...seen.current });
  useLayoutEffect(() => {
    const look = () => {
      if (!body.current || !scroller.current) return;
      const list = body.current.getBoundingClientRect();
      const around = scroller.current.getBoundingClientRect();
      const top = Math.max(0, around.top);
      const visible = Math.max(0, Math.min(innerHeight, around.bottom) - top);
      const row = body.current.querySelector("tr[data-index]")?.getBoundingClientRect().height;
      seen.current = { above: top - list.top, visible, rowHeight: row ?? seen.current.rowHeight };
      const next = windowOf(rows.current);
      const { from, to, rowHeight } = shown.peek();
      if (from !== next.from || to !== next.to || rowHeight !== seen.current.rowHeight)
        shown.value = { ...next, rowHeight: seen.current.rowHeight };
    };
    look();
    // What is above the table changes its height as well.
    const sizes = new ResizeObserver(look);
    if (scroller.current) sizes.observe(scroller.current);
    sizes.observe(document.documentElement);
    addEventListener("scroll", look, { capture: true, passive: true });
    addEventListener("resize", look);
    const stopWatching = watchPaper((is) => {
      isPaper.current = is;
      look();
    });
    return () => {
      sizes.disconnect();
      removeEventListener("scroll", look, { capture: true });
      removeEventListener("resize", look);
      stopWatching();
    };
  }, []);
  void shown.value;
  return { ...windowOf(count), rowHeight: seen.current.rowHeight };
}
