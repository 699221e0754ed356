// Chooses the rows of a long list that are drawn: those on the screen and some around them.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { watchPaper } from "../base/paper.ts";

/** The number of rows drawn beyond the screen on either side, so that a quick turn of the wheel shows no gap. */
const OVERSCAN = 12;
/** The number of rows by which the window moves at a time, so that most scroll events draw nothing. */
const STEP = 8;

export interface RowWindow {
  /** The index of the first row that is drawn. */
  from: number;
  /** The index after the last row that is drawn. */
  to: number;
}

/** Returns the rows to draw. `above`: the list's pixels above the screen; negative if it begins further down. */
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
  // If the list has become shorter, its end is shown until the operator scrolls.
  const latest = Math.max(0, count - (to - from));
  return { from: within(from, 0, latest), to: within(to, Math.min(count, to - from), count) };
}

function within(number: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, number));
}

const PAPER_ROWS = 1000;

/** Returns the rows to print: the first PAPER_ROWS, because paper cannot be scrolled. */
export function paperWindow(count: number): RowWindow {
  return { from: 0, to: Math.min(count, PAPER_ROWS) };
}

/** The number of rows on a numbered page. */
export const PAGE_ROWS = 100;

export function pageCount(count: number): number {
  return Math.max(1, Math.ceil(count / PAGE_ROWS));
}

/** Returns the rows of a page, which counts from 1. If the number is too high, returns the rows of the last page. */
export function pageWindow(count: number, page: number): RowWindow {
  const shown = within(page, 1, pageCount(count));
  return { from: (shown - 1) * PAGE_ROWS, to: Math.min(count, shown * PAGE_ROWS) };
}

/** Returns the page numbers to link: the first, the last, and some around `page`. null: omitted numbers. */
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

/** The assumed height of a row in pixels, until a row is measured. USUAL_VIEW is the assumed height of the screen. */
const USUAL_ROW = 36;
const USUAL_VIEW = 900;

/** Returns the rows to draw in `body`, updated on scrolling of the page and of `scroller`, which is around `body`. */
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
    const measure = () => {
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
    measure();
    // The document is observed, because content above the table also moves the table.
    const sizes = new ResizeObserver(measure);
    if (scroller.current) sizes.observe(scroller.current);
    sizes.observe(document.documentElement);
    addEventListener("scroll", measure, { capture: true, passive: true });
    addEventListener("resize", measure);
    const stopWatching = watchPaper((is) => {
      isPaper.current = is;
      measure();
    });
    return () => {
      sizes.disconnect();
      removeEventListener("scroll", measure, { capture: true });
      removeEventListener("resize", measure);
      stopWatching();
    };
  }, []);
  void shown.value;
  return { ...windowOf(count), rowHeight: seen.current.rowHeight };
}
