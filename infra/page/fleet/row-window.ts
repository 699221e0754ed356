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

/** The assumed height of a row in pixels, until a row is measured. USUAL_VIEW is the assumed height of the screen. */
const USUAL_ROW = 36;
const USUAL_VIEW = 900;

/**
 * Returns the rows to draw in `body`, updated while the page scrolls. If content above the rows grows while the pointer
 * is on them, the page scrolls by that height: the row below the pointer stays the same.
 */
export function useRowWindow(
  body: RefObject<HTMLElement | null>,
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
    let place: number | undefined;
    const measure = () => {
      if (!body.current) return;
      const now = body.current.getBoundingClientRect().top + scrollY;
      const moved = now - (place ?? now);
      if (Math.abs(moved) > 0.5 && body.current.matches(":hover")) scrollBy(0, moved);
      place = now;
      const list = body.current.getBoundingClientRect();
      const top = Math.max(0, list.top);
      const visible = Math.max(0, Math.min(innerHeight, list.bottom) - top);
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
    sizes.observe(document.documentElement);
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    const stopWatching = watchPaper((is) => {
      isPaper.current = is;
      measure();
    });
    return () => {
      sizes.disconnect();
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
      stopWatching();
    };
  }, []);
  void shown.value;
  return { ...windowOf(count), rowHeight: seen.current.rowHeight };
}
